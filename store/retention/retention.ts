import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import { below } from '../mongo/below.ts';
import { reaching } from '../mongo/failure.ts';
import { assertSandboxId } from '../sandboxes/assert-sandbox-id.ts';
import { type Archive, collectionOf, datedBefore, documentsOf, type Exported, partsOf } from './retained.ts';

/** A sandbox that has ended, and when its record was last written. ISO 8601. */
export interface EndedSandbox {
  id: string;
  endedAt: string;
}

/** What is counted of removals, by collection. */
export type Removed = Readonly<Record<string, number>>;

/** Commands are looked through so many at a time. */
const AT_ONCE = 100;
const LIVING_SNAPSHOTS: SnapshotState[] = ['creating', 'ready', 'deleting'];

/** Removes what is past of sandboxes. What it is asked to remove somebody must have exported before, who wants it. */
export class Retention {
  constructor(private readonly archive: Archive) {}

  /**
   * Sandboxes whose end was before an instant, the longest ago first.
   * @param page.after where the page before ended; null: the first page
   */
  async due(page: { before: string; after: EndedSandbox | null; limit: number }): Promise<EndedSandbox[]> {
    const { before, after, limit } = page;
    const filter = datedBefore('updatedAt', before, after);
    const ended = this.#collection('endedSandboxes');
    const documents = await reaching('read which sandboxes ended long ago', () =>
      ended.find(filter, { sort: { updatedAt: 1, _id: 1 }, limit, projection: { updatedAt: 1 } }).toArray(),
    );
    return documents.map(({ _id: id, updatedAt }) => ({ id, endedAt: String(updatedAt) }));
  }

  /**
   * Whether something of a sandbox that has ended is not over: a snapshot of it is there, an event waits for its audit, or
   * it lives once more.
   */
  async isNeeded(sandboxId: string): Promise<boolean> {
    assertSandboxId(sandboxId);
    const needs: [collection: string, filter: Record<string, unknown>][] = [
      ['sandboxes', { _id: sandboxId }],
      ['snapshots', { sandboxId, state: { $in: LIVING_SNAPSHOTS } }],
      ['auditQueue', { sandboxId }],
    ];
    const found = await reaching('look whether a sandbox is over', () =>
      Promise.all(needs.map(([name, filter]) => this.#collection(name).findOne(filter))),
    );
    return found.some((document) => document !== null);
  }

  /** All that is stored of a sandbox that has ended, but for its audit, to be exported. */
  documents(sandboxId: string): AsyncGenerator<Exported> {
    assertSandboxId(sandboxId);
    return documentsOf(this.archive, sandboxId);
  }

  /**
   * Removes all that is stored of a sandbox that has ended, but for its audit. Its record goes last, so that what was cut
   * short is found again, and only as it was when it was found to be due. Removed again, it changes nothing.
   * @returns how many documents of which collections that were
   */
  async remove({ id, endedAt }: EndedSandbox): Promise<Removed> {
    assertSandboxId(id);
    return reaching('remove a sandbox that ended long ago', async () => {
      const removed: Record<string, number> = await this.#removeCommands(id);
      await this.#collection('snapshotNames').deleteMany(below(id));
      await this.#collection('exposedPorts').deleteMany({ sandboxId: id }); // one may have been opened in the moment of its end
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
        removed.output += await this.#delete('output', below(_id));
        await this.#collection('launches').deleteOne({ _id });
        removed.commands += await this.#delete('commands', { _id });
      }
    }
  }

  /** Adds to {@link removed}. */
  async count(removed: Removed): Promise<void> {
    for (const [_id, n] of Object.entries(removed)) {
      if (n === 0) continue;
      await reaching('count what was removed', () =>
        this.#counts().updateOne({ _id }, { $inc: { removed: n } }, { upsert: true }),
      );
    }
  }

  /** How many documents were ever removed, by collection. Of a removal that was killed some may be missing. */
  async removed(): Promise<Removed> {
    const counts = await reaching('read what was removed', () => this.#counts().find().toArray());
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
