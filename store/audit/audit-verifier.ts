import type { Register } from '../register/register.ts';
import type { RegisterWalk } from '../register/register-walk.ts';
import type { ChainKey } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import type { AuditQueue } from './audit-queue.ts';
import { type ChainState, type Expectation, type Verification, verifyChain } from './audit-verification.ts';

const NO_STATE: ChainState = { head: null };

/** What a holder of the audit key has. */
export interface AuditKeys {
  chains: ChainKey;
  register: Register;
}

/** Reads chains as they are stored and says what is wrong with them. May run while others append. */
export class AuditVerifier {
  constructor(
    private readonly stored: AuditCollections,
    private readonly queue: AuditQueue,
    private readonly keys: AuditKeys,
  ) {}

  /** One whole chain. @param register what was read of it before; without it the chain is judged by itself */
  async one(sandboxId: string, register?: RegisterWalk): Promise<Verification> {
    const state = await this.stored.state(sandboxId);
    return this.#judged(sandboxId, state, await this.queue.countOf(sandboxId), { register });
  }

  /**
   * The chains of the given sandboxes and sources, of all that the register knows, and of all others that left an
   * entry, a head or an event that waits: a record that was removed does not take its chain along. Scans the ids of all
   * entries once.
   * @param expected each with the ids that its entries must tell of
   */
  async all(
    expected: ReadonlyMap<string, readonly string[]>,
    register: RegisterWalk,
  ): Promise<Map<string, Verification>> {
    const states = new Map<string, ChainState>();
    for await (const page of this.stored.states()) for (const state of page) states.set(state.id, state);
    const written = await this.stored.sandboxIds();
    const waiting = new Map((await this.queue.faults()).map((fault) => [fault.sandboxId, fault.waiting]));
    const ids = [expected, register.chains, states, waiting].flatMap((known) => [...known.keys()]);
    const results = new Map<string, Verification>();
    for (const id of new Set([...ids, ...written])) {
      const told = expected.get(id) ?? [];
      results.set(id, await this.#judged(id, states.get(id) ?? NO_STATE, waiting.get(id) ?? 0, { register, told }));
    }
    return results;
  }

  /** What was only begun when the register was read is looked at again, with what it says by now. */
  async #judged(id: string, state: ChainState, waiting: number, held: Expectation): Promise<Verification> {
    const { chains, register } = this.keys;
    let verification = verifyChain(chains, id, state, await this.stored.below(id), held);
    if (held.register && verification.problems.some(({ kind }) => kind === 'unborn' || kind === 'no-chain')) {
      await register.readOn(held.register);
      verification = verifyChain(chains, id, await this.stored.state(id), await this.stored.below(id), held);
    }
    return waiting === 0 ? verification : { ...verification, waiting };
  }
}
