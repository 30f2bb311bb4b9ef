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
   * Tells of all chains that were there before the register, as they are. It may be cut short, and goes on when it is called
   * again; once it has been through it does nothing.
   * @returns how many chains it told of
   */
  async begin(): Promise<number> {
    if (await this.register.hasBegun()) return 0;
    let chains = 0;
    for await (const page of this.stored.states()) {
      const ids = page.map(({ id }) => id);
      const [known, firsts] = await Promise.all([this.register.births.among(ids), this.stored.firstHashes(ids)]);
      const unknown = page.filter(({ id }) => !known.has(id));
      await Promise.all(
        unknown.map(async (state) => {
          const first = firsts.get(state.id) ?? null;
          await this.register.add({ kind: 'known', subject: state.id, first, ...this.#headOf(state) });
          await this.register.births.mark(state.id, first);
        }),
      );
      chains += unknown.length;
    }
    await this.register.begin(chains);
    return chains;
  }

  /**
   * Tells how far those have come that a process may have appended to which ended before it told of it: chains of sandboxes
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
