import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { withStoreErrors } from '../mongo/failure.ts';
import { assertSandboxId } from '../sandboxes/assert-sandbox-id.ts';
import { type Archive, collectionOf, datedBefore, documentsOf, type Exported, partsOf } from './retained.ts';

/** Ended sandbox, and the time of its record's last write, ISO 8601. */
export interface EndedSandbox {
  id: string;
  endedAt: string;
}

/** Counts of removed documents, by collection. */
export type Removed = Readonly<Record<string, number>>;

/** Commands read at a time. */
const AT_ONCE = 100;
const LIVING_SNAPSHOTS: SnapshotState[] = ['creating', 'ready', 'deleting'];

/** Removes ended sandboxes. The caller must have exported them before, if wanted. */
export class Retention {
  constructor(private readonly archive: Archive) {}

  /**
   * Returns sandboxes that ended before an instant, the longest ago first.
   * @param page.after end of the page before; null: the first page
   */
  async due(page: { before: string; after: EndedSandbox | null; limit: number }): Promise<EndedSandbox[]> {
    const { before, after, limit } = page;
    const filter = datedBefore('updatedAt', before, after);
    const ended = this.#collection('endedSandboxes');
    const documents = await withStoreErrors('read which sandboxes ended long ago', () =>
      ended.find(filter, { sort: { updatedAt: 1, _id: 1 }, limit, projection: { updatedAt: 1 } }).toArray(),
    );
    return documents.map(({ _id: id, updatedAt }) => ({ id, endedAt: String(updatedAt) }));
  }

  /** Reports whether an ended sandbox must stay: it has a snapshot, an event waits for its audit, or it lives again. */
  async isNeeded(sandboxId: string): Promise<boolean> {
    assertSandboxId(sandboxId);
    const needs: [collection: string, filter: Record<string, unknown>][] = [
      ['sandboxes', { _id: sandboxId }],
      ['snapshots', { sandboxId, state: { $in: LIVING_SNAPSHOTS } }],
      ['auditQueue', { sandboxId }],
    ];
    const found = await withStoreErrors('look whether a sandbox is over', () =>
      Promise.all(needs.map(([name, filter]) => this.#collection(name).findOne(filter))),
    );
    return found.some((document) => document !== null);
  }

  documents(sandboxId: string): AsyncGenerator<Exported> {
    assertSandboxId(sandboxId);
    return documentsOf(this.archive, sandboxId);
  }

  /**
   * Removes all documents of an ended sandbox except its audit. The record goes last, so that an interrupted removal is
   * found again, and only if unchanged since it was due. Idempotent.
   * @returns number of documents by collection
   */
  async remove({ id, endedAt }: EndedSandbox): Promise<Removed> {
    assertSandboxId(id);
    return withStoreErrors('remove a sandbox that ended long ago', async () => {
      const removed: Record<string, number> = await this.#removeCommands(id);
      await this.#collection('snapshotNames').deleteMany(idPrefixFilter(id));
      await this.#collection('exposedPorts').deleteMany({ sandboxId: id }); // opened at the moment of its end
      for (const [name, filter] of partsOf(id)) removed[name] = await this.#delete(name, filter);
      await this.#collection('auditHeads').updateOne({ _id: id }, { $set: { endedAt } });
      removed['sandboxes'] = await this.#delete('endedSandboxes', { _id: id, updatedAt: endedAt });
      return removed;
    });
  }

  async #removeCommands(sandboxId: string): Promise<{ commands: number; output: number }> {
    const removed = { commands: 0, output: 0 };
    for (;;) {
      const options = { limit: AT_ONCE, projection: { _id: 1 } };
      const commands = await this.#collection('commands').find({ sandboxId }, options).toArray();
      if (commands.length === 0) return removed;
      for (const { _id } of commands) {
        removed.output += await this.#delete('output', idPrefixFilter(_id));
        await this.#collection('launches').deleteOne({ _id });
        removed.commands += await this.#delete('commands', { _id });
      }
    }
  }

  /** Adds to the totals of {@link removed}. */
  async count(removed: Removed): Promise<void> {
    for (const [_id, n] of Object.entries(removed)) {
      if (n === 0) continue;
      await withStoreErrors('count what was removed', () =>
        this.#counts().updateOne({ _id }, { $inc: { removed: n } }, { upsert: true }),
      );
    }
  }

  /** Returns the total of removed documents, by collection. A killed removal may be counted in part. */
  async removed(): Promise<Removed> {
    const counts = await withStoreErrors('read what was removed', () => this.#counts().find().toArray());
    return Object.fromEntries(counts.map(({ _id, removed }) => [_id, removed]));
  }

  #counts() {
    return this.archive.connection.collection<{ _id: string; removed: number }>('retention');
  }

  #collection(name: string) {
    return collectionOf(this.archive.connection, name);
  }

  async #delete(name: string, filter: Record<string, unknown>): Promise<number> {
    return (await this.#collection(name).deleteMany(filter)).deletedCount;
  }
}
