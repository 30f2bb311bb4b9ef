import type { CaptureRecord } from '../model/snapshots/capture.ts';
import type { Page, PageOptions, WaitOptions } from './http/options.ts';
import { prefer } from './http/paths.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';
import type { OnHost } from './sources.ts';

/** A capture as the API shows it. */
export type Capture = CaptureRecord;

/** Which projects may clone it, and what clones can reach at most. */
export interface TakeCapture extends OnHost, Partial<Pick<CaptureRecord, 'projects' | 'allowedEgress'>> {}

/** Copies of running sources. Throws as {@link MayflyClient} does. */
export class Captures {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the record: `ready`, or `creating` when the wait was over first. */
  take(source: string, request: TakeCapture = {}, options: WaitOptions & PostOptions = {}): Promise<Capture> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: ofSource(source), body: request, headers }, options);
  }

  /** Newest first, of all hosts. */
  list(source: string, options: PageOptions = {}): Promise<Page<Capture>> {
    const { limit, cursor } = options;
    return this.#transport.json({ method: 'GET', path: ofSource(source), query: { limit, cursor } }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Capture> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Returns the record: `deleted`, or `deleting` when the wait was over first. */
  delete(id: string, options: WaitOptions & CallOptions = {}): Promise<Capture> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: pathOf(id), headers }, options);
  }
}

function ofSource(source: string): string {
  return `/v1/sources/${encodeURIComponent(source)}/captures`;
}

function pathOf(id: string): string {
  return `/v1/captures/${encodeURIComponent(id)}`;
}
