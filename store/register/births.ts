import type { Connection, Model } from 'mongoose';
import { withStoreErrors } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { modelOf } from '../mongo/model.ts';
import type { GenesisDocument } from './facts.ts';
import { birthSchema } from './facts.ts';

/** Cached known chains; beyond that the least recently used are dropped. */
const REMEMBERED = 10_000;

/**
 * Looks up the register's facts about a chain or an API key in one read. Hints only: they have no keyed hash, and after
 * a missing one the birth is recorded again.
 */
export class GenesisIndex {
  readonly #model: Model<GenesisDocument>;
  readonly #marks = new GroupCommit((births: GenesisDocument[]) => this.#markAll(births));
  readonly #known = new Set<string>();

  constructor(private readonly connection: Connection) {
    this.#model = modelOf(connection, 'auditBirths', birthSchema());
  }

  /** Reports whether this process has seen the birth of a chain written. */
  knows(subject: string): boolean {
    if (!this.#known.delete(subject)) return false;
    this.#known.add(subject);
    return true;
  }

  remember(subject: string): void {
    this.#known.add(subject);
    const [oldest] = this.#known;
    if (this.#known.size > REMEMBERED && oldest) this.#known.delete(oldest);
  }

  /** Returns the mark of a chain or key; null without one. */
  async of(id: string): Promise<string | null> {
    return (await this.#model.findById(id).lean<GenesisDocument>())?.first ?? null;
  }

  /** Marks a chain, unless it is marked. @param first null when the chain's first entry is missing */
  async mark(subject: string, first: string | null): Promise<void> {
    await this.#marks.add({ _id: subject, first: first ?? '' });
  }

  /** Replaces a mark. */
  async replace(id: string, first: string): Promise<void> {
    await this.#model.updateOne({ _id: id }, { $set: { first } }, { upsert: true });
  }

  async #markAll(births: GenesisDocument[]): Promise<null[]> {
    const updates = births.map(({ _id, first }) => ({
      updateOne: { filter: { _id }, update: { $setOnInsert: { first } }, upsert: true },
    }));
    const stored = this.connection.collection<GenesisDocument>('auditBirths');
    await withStoreErrors('mark births of audits', () => stored.bulkWrite(updates, { ordered: false }));
    return births.map(() => null);
  }
}
