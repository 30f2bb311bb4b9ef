import type { ImageFailure, ImageProgress } from '../model/image/image.ts';
import type { Network } from '../model/sandbox/sandbox.ts';
import type { Page } from './http/options.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

/** The build of an image as the API shows it. */
export interface Image extends Omit<ImageProgress, 'failure'> {
  /** What is done, with the line of the Dockerfile; null for what Mayfly does itself. */
  steps: {
    line: number | null;
    text: string;
    /** What runs, or will run, for it; null: it had been done before. */
    command: { sandboxId: string; id: string } | null;
  }[];
  settings: {
    env: Record<string, string>;
    workdir: string;
    user: string;
    labels: Record<string, string>;
    exposed: string[];
    cmd: string[] | null;
    entrypoint: string[] | null;
  };
  /** Variables that no ARG asks for. */
  unusedArgs: string[];
  failure: (Omit<ImageFailure, 'code'> & { code: string }) | null;
}

export interface BuildImage {
  /** Of the source that it makes. */
  name: string;
  dockerfile: string;
  args?: Record<string, string>;
  /** `@default` the last stage */
  target?: string;
  /** Which source is meant by a name behind FROM. */
  aliases?: Record<string, string>;
  /** What COPY takes from: a tar archive in base64, with its `.dockerignore`. */
  context?: string;
  /** What `RUN --mount=type=secret` mounts, by id, in base64. */
  secrets?: Record<string, string>;
  /** `@default` nothing can be reached */
  network?: Pick<Network, 'egress'>;
}

/** Sources that are built of Dockerfiles. Throws as {@link MayflyClient} does. */
export class Images {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns when it is begun, or the same is being built. */
  build(request: BuildImage, options: PostOptions = {}): Promise<Image> {
    return this.#transport.json({ method: 'POST', path: '/v1/images', body: request }, options);
  }

  /** The latest, newest first. */
  list(options: CallOptions = {}): Promise<Page<Image>> {
    return this.#transport.json({ method: 'GET', path: '/v1/images' }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Image> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Returns when Temporal has the wish. */
  cancel(id: string, options: PostOptions = {}): Promise<Image> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/cancel` }, options);
  }
}

function pathOf(id: string): string {
  return `/v1/images/${encodeURIComponent(id)}`;
}
