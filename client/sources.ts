import { filePathInUrl } from '../model/files/file-path.ts';
import type { SourceInfo } from '../model/host.ts';
import type { BakedSource as BakedRecord } from '../model/snapshots/baked-source.ts';
import type { SourceAccess, SourceCommandResult } from '../model/snapshots/source-access.ts';
import type { Page, WaitOptions } from './http/options.ts';
import { prefer } from './http/paths.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';
import type { FileEntry, GuestPath } from './sandbox/files.ts';

/** A source, and the live hosts that have it. */
export interface Source extends SourceInfo {
  hosts: string[];
}

/** A source that was made of a snapshot, on one host. */
export type BakedSource = Omit<BakedRecord, 'bakeId'>;

/** A source, whether it can be looked at, and what it was made of, by host. */
export interface SourceDetail extends Source {
  access: SourceAccess[];
  baked: BakedSource[];
}

export interface BakeSource {
  /** 1 to 63 of `A-Za-z0-9._-`, the first a letter. */
  name: string;
  fromSnapshot: string;
}

/** Which of several hosts that have a source of that name. */
export interface OnHost {
  hostId?: string;
}

/** Whether a source runs, on one host. */
export interface SourcePower {
  name: string;
  hostId: string;
  state: 'starting' | 'running' | 'stopping' | 'shut_off';
  /** Whether its guest agent answers; null: it has none, or does not run. */
  guestAnswers: boolean | null;
}

export interface StopSource extends OnHost {
  /** Pull its power cord: what it has not written yet is lost. `@default` false */
  force?: boolean;
}

export interface LookAtSource extends OnHost {
  /** docs/read-only.md says what it may be. */
  command: string;
  agentId?: string;
  /** Seconds. `@default` 30 */
  timeoutSeconds?: number;
  /** Bytes of each stream that are kept. `@default` 1 MiB */
  maxOutputBytes?: number;
}

/** What is at a path of a source: the content of a file, to be read to its end or cancelled, or the entries of a directory. */
export type SourceFile = { kind: 'file'; body: ReadableStream<Uint8Array> } | { kind: 'directory'; items: FileEntry[] };

/** Read-only commands and files of sources. Throws as {@link MayflyClient} does. */
export class Sources {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get(name: string, options: CallOptions = {}): Promise<SourceDetail> {
    return this.#transport.json({ method: 'GET', path: sourcePath(name) }, options);
  }

  /** Makes a source of a snapshot. Returns the record: `ready`, or `baking` when the wait was over first. */
  bake(request: BakeSource, options: WaitOptions & PostOptions = {}): Promise<BakedSource> {
    const shape = { method: 'POST', path: '/v1/sources', body: request, headers: prefer(options.waitSeconds) } as const;
    return this.#transport.json(shape, options);
  }

  /** Deletes a source that was made of a snapshot. Returns the record: `deleted`, or `deleting` when the wait was over first. */
  delete(name: string, { hostId }: OnHost = {}, options: WaitOptions & CallOptions = {}): Promise<BakedSource> {
    const shape = { method: 'DELETE', path: sourcePath(name), query: { hostId } } as const;
    return this.#transport.json({ ...shape, headers: prefer(options.waitSeconds) }, options);
  }

  /** Starts a source that is shut off. `running`, or `starting` when the wait was over first. */
  start(name: string, request: OnHost = {}, options: WaitOptions & PostOptions = {}): Promise<SourcePower> {
    return this.#task(`${sourcePath(name)}/start`, request, options);
  }

  /** Shuts a source down. `shut_off`, or `stopping` when the wait was over first. */
  stop(name: string, request: StopSource = {}, options: WaitOptions & PostOptions = {}): Promise<SourcePower> {
    return this.#task(`${sourcePath(name)}/stop`, request, options);
  }

  /** Returns the record: `prepared`, or an earlier state when the wait was over first. */
  prepare(name: string, request: OnHost = {}, options: WaitOptions & PostOptions = {}): Promise<SourceAccess> {
    return this.#task(`${sourcePath(name)}/prepare`, request, options);
  }

  /** Returns the record: `unprepared`, or an earlier state when the wait was over first. */
  unprepare(name: string, request: OnHost = {}, options: WaitOptions & PostOptions = {}): Promise<SourceAccess> {
    return this.#task(`${sourcePath(name)}/unprepare`, request, options);
  }

  run(name: string, request: LookAtSource, options: PostOptions = {}): Promise<SourceCommandResult> {
    return this.#transport.json({ method: 'POST', path: `${sourcePath(name)}/commands`, body: request }, options);
  }

  async read(name: string, path: GuestPath, { hostId, signal }: OnHost & CallOptions = {}): Promise<SourceFile> {
    const target = `${sourcePath(name)}/files/${filePathInUrl(Buffer.from(path as string))}`;
    const response = await this.#transport.open({ method: 'GET', path: target, query: { hostId } }, signal);
    if (response.headers.get('content-type') === 'application/json') {
      const { items } = (await response.json()) as Page<FileEntry>;
      return { kind: 'directory', items };
    }
    return { kind: 'file', body: response.body ?? new ReadableStream({ start: (controller) => controller.close() }) };
  }

  #task<T>(path: string, body: OnHost, options: WaitOptions & PostOptions): Promise<T> {
    return this.#transport.json({ method: 'POST', path, body, headers: prefer(options.waitSeconds) }, options);
  }
}

function sourcePath(name: string): string {
  return `/v1/sources/${encodeURIComponent(name)}`;
}
