import { MayflyError } from '../../model/errors.ts';
import type { AuditHead } from '../audit/audit-chain.ts';
import { entryId, expiredText, type HeadDocument, parseHead } from '../audit/audit-documents.ts';
import type { AuditKeys } from '../audit/audit-verifier.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { withStoreErrors } from '../mongo/failure.ts';
import {
  type Archive,
  collectionOf,
  datedBefore,
  type Exported,
  exportDocuments,
  type RawDocument,
} from './retained.ts';
import type { EndedSandbox } from './retention.ts';

/** Entries removed at a time. */
const AT_ONCE = 100;

/**
 * Removes the entries of chains whose sandbox ended long ago, and keeps their ends. A mark that only a holder of the
 * audit key can make vouches for the removal, so that no other removal looks like it.
 */
export class AuditRetention {
  constructor(
    private readonly archive: Archive,
    private readonly keys: AuditKeys | null,
  ) {}

  /**
   * Returns chains whose sandbox ended before an instant and is removed, the longest ago first.
   * @param page.after as for Retention.due
   */
  async due(page: { before: string; after: EndedSandbox | null; limit: number }): Promise<EndedSandbox[]> {
    const { before, after, limit } = page;
    const filter = datedBefore('endedAt', before, after);
    const options = { sort: { endedAt: 1, _id: 1 } as const, limit, projection: { endedAt: 1 } };
    const heads = await withStoreErrors('read which audit trails are past', () =>
      this.#heads().find(filter, options).toArray(),
    );
    return heads.map(({ _id: id, endedAt }) => ({ id, endedAt: String(endedAt) }));
  }

  /** Yields the head of a chain and its entries, for export. */
  async *documents(sandboxId: string): AsyncGenerator<Exported> {
    yield* exportDocuments(this.archive, 'auditHeads', { _id: sandboxId });
    yield* exportDocuments(this.archive, 'audit', idPrefixFilter(sandboxId));
  }

  /** Returns the time of the last entry by its head, ISO 8601; null when the entry is missing. Not verified here. */
  async lastAt(sandboxId: string): Promise<string | null> {
    const { count } = await this.#head(sandboxId);
    const last = await withStoreErrors('read the end of an audit', () =>
      collectionOf(this.archive.connection, 'audit').findOne({ _id: entryId(sandboxId, count - 1) }),
    );
    if (!last) return null;
    const { body } = this.archive.sealing.of('audit').opened(last);
    return String((JSON.parse(String(body)) as { at?: unknown }).at);
  }

  /**
   * Removes the entries up to the head of a verified and exported chain, after recording that in the register. May be
   * interrupted and repeated. Concurrent appends continue behind the end, which stays.
   * @returns number of entries removed
   * @throws MayflyError internal without the key
   */
  async remove(sandboxId: string): Promise<number> {
    if (!this.keys)
      throw new MayflyError('internal', 'This process was not given the audit key, so it removes no audit.');
    const { count, hash } = await this.#head(sandboxId);
    await this.keys.register.add({ kind: 'removed', subject: sandboxId, count, hash });
    const expired = expiredText(this.keys.chains.expiry(sandboxId, { count, hash, at: new Date().toISOString() }));
    return withStoreErrors('remove an audit that is past', async () => {
      await this.#heads().updateOne({ _id: sandboxId }, { $set: { expired } });
      let removed = 0;
      for (let from = 0; from < count; from += AT_ONCE) {
        const numbers = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => entryId(sandboxId, from + n));
        const entries = collectionOf(this.archive.connection, 'audit');
        removed += (await entries.deleteMany({ _id: { $in: numbers } })).deletedCount;
      }
      await this.#heads().updateOne({ _id: sandboxId }, { $unset: { endedAt: '' } });
      return removed;
    });
  }

  async #head(sandboxId: string): Promise<AuditHead> {
    const document = await withStoreErrors('read the head of an audit', () =>
      this.#heads().findOne({ _id: sandboxId }),
    );
    const head = document && parseHead(document.head);
    if (head) return head;
    throw new MayflyError('internal', `The head of the audit of ${sandboxId} is not one that was written by Mayfly.`);
  }

  #heads() {
    return this.archive.connection.collection<HeadDocument & RawDocument>('auditHeads');
  }
}
