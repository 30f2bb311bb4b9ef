import type { SandboxRecord } from '../model/sandbox/sandbox.ts';
import type { SnapshotKind, SnapshotRecord } from '../model/snapshots/snapshot.ts';
import type { CreateSandbox } from './create-sandbox.ts';
import { Diffs } from './diff.ts';
import type { Page, PageOptions, WaitOptions } from './http/options.ts';
import { prefer, sandboxPath } from './http/paths.ts';
import type { Problem } from './http/problem.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

/** A snapshot as the API shows it. */
export type Snapshot = SnapshotRecord;

export interface TakeSnapshot {
  /** Unique in its sandbox. `@default` the snapshot's id */
  name?: string;
  /** `@default` disk */
  kind?: SnapshotKind;
}

export interface RestoreSandbox {
  snapshotId: string;
  /** Keeps the state that is left, as a snapshot of its own. `@default` true */
  keepCurrent?: boolean;
}

/** A restore as it stands. */
export interface Restored {
  operationId: string;
  snapshotId: string;
  /** The snapshot of the state that was left; null when it was not kept. */
  keptAs: string | null;
  sandbox: SandboxRecord;
}

/** What a fork shall be other than its snapshot; what is left out gets the server's default. */
export type ForkSandbox = Omit<CreateSandbox, 'source' | 'snapshotId' | 'captureId' | 'name'> & {
  snapshotId: string;
  /** 1 to 100. */
  count: number;
};

/** One sandbox of those that were asked for, or why there is none; the problem names it. */
export type Fork = { sandbox: SandboxRecord } | { problem: Problem };

/** What is saved of sandboxes, and what is made of that. Throws as {@link MayflyClient} does. */
export class Snapshots {
  /** What changed between two of them, or since one. */
  readonly diff: Diffs;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.diff = new Diffs(transport);
  }

  /** Returns the record: `ready`, or `creating` when the wait was over first. */
  take(sandboxId: string, request: TakeSnapshot = {}, options: WaitOptions & PostOptions = {}): Promise<Snapshot> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: ofSandbox(sandboxId), body: request, headers }, options);
  }

  /** Newest first; also those of a sandbox that has ended. */
  list(sandboxId: string, options: PageOptions = {}): Promise<Page<Snapshot>> {
    const { limit, cursor } = options;
    return this.#transport.json({ method: 'GET', path: ofSandbox(sandboxId), query: { limit, cursor } }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Snapshot> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Returns the record: `deleted`, or `deleting` when the wait was over first. */
  delete(id: string, options: WaitOptions & CallOptions = {}): Promise<Snapshot> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: pathOf(id), headers }, options);
  }

  /** Takes a sandbox back to one of its own snapshots. Its state is `restoring` when the wait was over first. */
  restore(sandboxId: string, request: RestoreSandbox, options: WaitOptions & PostOptions = {}): Promise<Restored> {
    const path = `${sandboxPath(sandboxId)}/restore`;
    return this.#transport.json({ method: 'POST', path, body: request, headers: prefer(options.waitSeconds) }, options);
  }

  /** Makes so many sandboxes of a snapshot; each item says what became of one of them. */
  async fork(request: ForkSandbox, options: WaitOptions & PostOptions = {}): Promise<Fork[]> {
    const headers = prefer(options.waitSeconds);
    const shape = { method: 'POST', path: '/v1/sandboxes', body: request, headers } as const;
    return (await this.#transport.json<{ items: Fork[] }>(shape, options)).items;
  }
}

function ofSandbox(sandboxId: string): string {
  return `${sandboxPath(sandboxId)}/snapshots`;
}

function pathOf(id: string): string {
  return `/v1/snapshots/${encodeURIComponent(id)}`;
}
