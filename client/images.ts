import type { ImageFailure, ImageProgress } from '../model/image/image.ts';
import type { Network } from '../model/sandbox/sandbox.ts';
import { MayflyApiError } from './http/api-error.ts';
import type { Page, PageOptions } from './http/options.ts';
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
  /** What is asked of a fresh machine of it, when all steps are done; null: nothing. */
  ready: { text: string; command: { sandboxId: string; id: string } } | null;
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
  /** What the Dockerfile says and no build does, with what holds in its place. */
  ignored: { line: number; text: string }[];
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
  /** In its place: one that was sent by {@link Images.sendContext}, by its SHA-256. */
  contextDigest?: string;
  /** What `RUN --mount=type=secret` mounts, by id, in base64. */
  secrets?: Record<string, string>;
  /** What `/bin/sh` runs, as root, in a fresh machine that reaches nobody, until it exits with 0; else the build fails. */
  ready?: string;
  /** How long it is asked again, 1 to 300. `@default` 120 */
  readySeconds?: number;
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

  /** Whether a context is there; it is then kept as if it had been sent now. @param digest SHA-256 of the archive, hexadecimal */
  async hasContext(digest: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.#transport.json({ method: 'GET', path: contextPath(digest) }, options);
      return true;
    } catch (error) {
      if (error instanceof MayflyApiError && error.code === 'context_not_found') return false;
      throw error;
    }
  }

  /** Sends what is too large for {@link BuildImage.context}: a tar archive of at most 2 GiB. Once: it comes as a stream. */
  async sendContext(digest: string, archive: ReadableStream<Uint8Array>, options: CallOptions = {}): Promise<void> {
    const headers = { 'content-type': 'application/x-tar' };
    const request = { method: 'PUT', path: contextPath(digest), headers, stream: archive } as const;
    await this.#transport.jsonOnce(request, options.signal ? { signal: options.signal } : {});
  }

  /** Newest first. */
  list({ limit, cursor, ...options }: PageOptions = {}): Promise<Page<Image>> {
    return this.#transport.json({ method: 'GET', path: '/v1/images', query: { limit, cursor } }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Image> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Returns when Temporal has the wish. */
  cancel(id: string, options: PostOptions = {}): Promise<Image> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/cancel` }, options);
  }
}

function contextPath(digest: string): string {
  return `/v1/image-contexts/${encodeURIComponent(digest)}`;
}

function pathOf(id: string): string {
  return `/v1/images/${encodeURIComponent(id)}`;
}
