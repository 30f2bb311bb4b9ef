import { Diffs } from './diff.ts';
import type { CreateSandbox, Forks } from './http/openapi.ts';
import { Resource, type WaitOptions } from './http/resource.ts';
import type { PostOptions } from './http/transport.ts';

/** Settings of forks; omitted ones get the server's default. */
export type ForkSandbox = Omit<CreateSandbox, 'source' | 'captureId' | 'name'> & { snapshotId: string; count: number };

/** Outcome of one requested sandbox: its record, or the problem that prevented it. */
export type Fork = Forks['items'][number];

/** Saved states of sandboxes, and their forks. */
export class Snapshots extends Resource {
  /** Changes between two of them, or since one. */
  readonly diff = new Diffs(this.transport);
  /** Returns the record: `ready`, or `creating` when the wait ended first. */
  readonly take = this.send('POST /v1/sandboxes/{id}/snapshots');
  /** Newest first; also snapshots of an ended sandbox. */
  readonly list = this.ask('GET /v1/sandboxes/{id}/snapshots');
  /** Snapshots of all sandboxes of the project, newest first; with an operator's key, of all projects. */
  readonly listAll = this.ask('GET /v1/snapshots');
  readonly get = this.ask('GET /v1/snapshots/{id}');
  /** Returns the record: `deleted`, or `deleting` when the wait ended first. */
  readonly delete = this.ask('DELETE /v1/snapshots/{id}');
  /** Restores a sandbox to one of its own snapshots. Its state is `restoring` when the wait ended first. */
  readonly restore = this.send('POST /v1/sandboxes/{id}/restore');
  readonly #create = this.send('POST /v1/sandboxes');

  /** Creates `count` sandboxes from a snapshot; each item is the outcome of one of them. */
  async fork(request: ForkSandbox, options: WaitOptions & PostOptions = {}): Promise<Fork[]> {
    return ((await this.#create(request, options)) as Forks).items;
  }
}
