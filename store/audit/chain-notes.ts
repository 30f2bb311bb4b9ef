import type { Register } from '../register/register.ts';
import { type ChainKey, GENESIS } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import { parseHead } from './audit-documents.ts';
import type { ChainState } from './audit-verification.ts';

/** How long before the register's last entry somebody may have appended whose process then ended. Milliseconds. */
const UNTOLD_MS = 10 * 60_000;

/** Tells the register of chains that this process has not appended to. */
export class ChainNotes {
  constructor(
    private readonly stored: AuditCollections,
    private readonly key: ChainKey,
    private readonly register: Register,
  ) {}

  /**
   * Records the length of chains that a process may have appended to and ended before it recorded that: chains of sandboxes
   * that live or have ended since about then, and of sources.
   */
  async catchUp(): Promise<void> {
    const { at = new Date().toISOString() } = (await this.register.anchored()) ?? {};
    const since = new Date(Date.parse(at) - UNTOLD_MS).toISOString();
    const subjects = [...(await this.stored.livingSince(since)), ...(await this.stored.sourceIds())];
    for await (const page of this.stored.statesOf(subjects)) {
      const heads = page.map((state) => ({ subject: state.id, ...this.#headOf(state) }));
      const begun = heads.filter(({ count }) => count > 0);
      await Promise.all(begun.map((head) => this.register.add({ kind: 'head', ...head })));
    }
  }

  /** Of a chain with a head that is not ours nothing is told. */
  #headOf({ id, head: text }: ChainState & { id: string }): { count: number; hash: string } {
    const head = text === null ? null : parseHead(text);
    if (!head || !this.key.isGenuineHead(id, head)) return { count: 0, hash: GENESIS };
    return { count: head.count, hash: head.hash };
  }
}
