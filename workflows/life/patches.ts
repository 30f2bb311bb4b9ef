import { condition, currentUpdateInfo, workflowInfo } from '@temporalio/workflow';
import type { SandboxPatch } from '../../model/sagas/messages.ts';
import { isUnclaimed } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';
import { Turns } from '../saga/turns.ts';
import type { Life } from './life.ts';

/** Who has not heard the answer sends it again within ten seconds: sagas/ gives up after that. */
const REMEMBERED = 200;
/**
 * A run may have 51,200 events, 50 MiB and 2,000 updates. It continues as new long before, but not while an operation is
 * under way: one that takes very long must not be cut off by PATCHes.
 */
const MOST = { events: 20_000, bytes: 20 * 2 ** 20 };

/** What callers change of a sandbox, one change after another, so that none is lost to another, or to a timer. */
export class Patches {
  readonly #turns = new Turns();
  #count = 0;
  /** A timer has run out, and waits for what came before it. */
  #isTimeOver = false;
  readonly #ids: string[];

  /** @param ids of those that earlier runs have taken */
  constructor(
    private readonly life: Life,
    ids: readonly string[] = [],
  ) {
    this.#ids = [...ids];
  }

  get ids(): readonly string[] {
    return this.#ids;
  }

  /** @throws ApplicationFailure why it is not taken now */
  check(): void {
    const { historyLength, historySize } = workflowInfo();
    const { id, isToEnd, record } = this.life;
    if (isToEnd) throw ended(id);
    if (isUnclaimed(record)) throw refusal('sandbox_not_running', `${id} is a pool's, and nobody has claimed it.`);
    if (historyLength <= MOST.events && historySize <= MOST.bytes) return;
    throw refusal('sandbox_busy', `${id} takes no more changes until what is under way has ended.`);
  }

  /** @throws ApplicationFailure sandbox_ended */
  async change(patch: SandboxPatch): Promise<void> {
    const id = currentUpdateInfo()?.id;
    if (id !== undefined && this.#ids.includes(id)) return;
    const at = Date.now();
    await this.inTurn(() => this.#apply(patch, at));
    if (id === undefined) return;
    this.#ids.push(id);
    this.#ids.splice(0, this.#ids.length - REMEMBERED);
  }

  /** Runs one change when those of before are done: no timer decides while it is under way. */
  async inTurn(apply: () => Promise<void>): Promise<void> {
    if (this.#isTimeOver) await condition(() => !this.#isTimeOver);
    this.#count++;
    await this.#turns.take(apply).finally(() => {
      this.#count--;
    });
  }

  /** None is under way. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** Decides something when all is written that came before now. What comes meanwhile waits for the decision. */
  async decide<T>(decision: () => T): Promise<T> {
    this.#isTimeOver = true;
    await this.#turns.done();
    const decided = decision();
    this.#isTimeOver = false;
    return decided;
  }

  async #apply(
    { actor, ttlSeconds, idleSeconds, onIdle, autoResume, metadata }: SandboxPatch,
    at: number,
  ): Promise<void> {
    const { life } = this;
    if (life.isEnding) throw ended(life.id);
    const wished = {
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(idleSeconds !== undefined && { idleSeconds }),
      ...(onIdle !== undefined && { onIdle }),
      ...(autoResume !== undefined && { autoResume }),
      ...(metadata !== undefined && { metadata }),
    };
    const spec = { ...life.record.spec, ...wished };
    const expiresAt = ttlSeconds === undefined ? life.record.expiresAt : new Date(at + ttlSeconds * 1000).toISOString();
    await life.recordChange('sandbox.patched', { spec, expiresAt }, { ...wished, expiresAt }, actor);
    life.used();
  }
}

function ended(id: string) {
  return refusal('sandbox_ended', `${id} is ending or has ended`);
}
