import type { TransparencyLog } from '../register/register.ts';
import type { LogVerification } from '../register/register-walk.ts';
import type { ChainKey } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import type { AuditQueue } from './audit-queue.ts';
import { type ChainState, type Expectation, type Verification, verifyChain } from './audit-verification.ts';

const NO_STATE: ChainState = { head: null };

/** Parts that need the audit key. */
export interface AuditKeys {
  chains: ChainKey;
  register: TransparencyLog;
}

/** Verifies stored chains. May run during appends. */
export class AuditVerifier {
  constructor(
    private readonly stored: AuditCollections,
    private readonly queue: AuditQueue,
    private readonly keys: AuditKeys,
  ) {}

  /** Verifies one chain. @param register read before; without it only the chain is verified */
  async one(sandboxId: string, register?: LogVerification): Promise<Verification> {
    const state = await this.stored.state(sandboxId);
    return this.#verify(sandboxId, state, await this.queue.countOf(sandboxId), { register });
  }

  /**
   * Verifies the chains of the given sandboxes and sources, of the register, and all others with an entry, a head or a
   * waiting event: removing a record does not remove its chain. Scans the ids of all entries once.
   * @param expected ids that must occur in the entries, by chain
   */
  async all(
    expected: ReadonlyMap<string, readonly string[]>,
    register: LogVerification,
  ): Promise<Map<string, Verification>> {
    const states = new Map<string, ChainState>();
    for await (const page of this.stored.states()) for (const state of page) states.set(state.id, state);
    const written = await this.stored.sandboxIds();
    const waiting = new Map((await this.queue.faults()).map((fault) => [fault.sandboxId, fault.waiting]));
    const ids = [expected, register.chains, states, waiting].flatMap((known) => [...known.keys()]);
    const results = new Map<string, Verification>();
    for (const id of new Set([...ids, ...written])) {
      const told = expected.get(id) ?? [];
      results.set(id, await this.#verify(id, states.get(id) ?? NO_STATE, waiting.get(id) ?? 0, { register, told }));
    }
    return results;
  }

  /** Verifies a chain, again with a newer register when the first read may have missed its birth. */
  async #verify(id: string, state: ChainState, waiting: number, held: Expectation): Promise<Verification> {
    const { chains, register } = this.keys;
    let verification = verifyChain(chains, id, state, await this.stored.below(id), held);
    if (held.register && verification.problems.some(({ kind }) => kind === 'unborn' || kind === 'no-chain')) {
      await register.readOn(held.register);
      verification = verifyChain(chains, id, await this.stored.state(id), await this.stored.below(id), held);
    }
    return waiting === 0 ? verification : { ...verification, waiting };
  }
}
