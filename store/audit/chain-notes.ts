import type { TransparencyLog } from '../register/register.ts';
import { type ChainKey, GENESIS } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import { parseHead } from './audit-documents.ts';
import type { ChainState } from './audit-verification.ts';

/** Time before the register's last entry within which a process may have appended and then ended, ms. */
const MISSED_WINDOW_MS = 10 * 60_000;

/** Records in the register chains to which this process has not appended. */
export class MissedHeads {
  constructor(
    private readonly stored: AuditCollections,
    private readonly key: ChainKey,
    private readonly register: TransparencyLog,
  ) {}

  /**
   * Records the lengths of chains that a process may have extended without recording that before it ended: chains of
   * sources, and of sandboxes that live or have ended since about then.
   */
  async catchUp(): Promise<void> {
    const { at = new Date().toISOString() } = (await this.register.anchored()) ?? {};
    const since = new Date(Date.parse(at) - MISSED_WINDOW_MS).toISOString();
    const subjects = [...(await this.stored.livingSince(since)), ...(await this.stored.sourceIds())];
    for await (const page of this.stored.statesOf(subjects)) {
      const heads = page.map((state) => ({ subject: state.id, ...this.#headOf(state) }));
      const begun = heads.filter(({ count }) => count > 0);
      await Promise.all(begun.map((head) => this.register.add({ kind: 'head', ...head })));
    }
  }

  /** Returns length 0 for a head that is not genuine, which is not recorded. */
  #headOf({ id, head: text }: ChainState & { id: string }): { count: number; hash: string } {
    const head = text === null ? null : parseHead(text);
    if (!head || !this.key.isGenuineHead(id, head)) return { count: 0, hash: GENESIS };
    return { count: head.count, hash: head.hash };
  }
}
