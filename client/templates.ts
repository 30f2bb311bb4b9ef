import type { TemplateRecord } from '../model/templates/template.ts';
import type { Page, WaitOptions } from './http/options.ts';
import { prefer } from './http/paths.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

/** A template as the API shows it. */
export type Template = Omit<TemplateRecord, 'key' | 'installationId' | 'builderId' | 'probeIds'>;

export interface MakeTemplate {
  source: string;
  /** `@default` as the source has */
  cpus?: number;
  memoryMib?: number;
  /** `@default` the one with most memory to spare */
  hostId?: string;
}

/** Memories that sandboxes wake from. Throws as {@link MayflyClient} does. */
export class Templates {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns when it is begun, or is there: `building`, `verifying` or `ready`. */
  make(request: MakeTemplate, options: PostOptions = {}): Promise<Template> {
    return this.#transport.json({ method: 'POST', path: '/v1/templates', body: request }, options);
  }

  /** Those that are not gone, newest first. */
  list(options: CallOptions = {}): Promise<Page<Template>> {
    return this.#transport.json({ method: 'GET', path: '/v1/templates' }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Template> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Returns the record: `gone`, or an earlier state when the wait was over first. */
  delete(id: string, options: WaitOptions & CallOptions = {}): Promise<Template> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: pathOf(id), headers }, options);
  }
}

function pathOf(id: string): string {
  return `/v1/templates/${encodeURIComponent(id)}`;
}
