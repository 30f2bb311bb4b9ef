import { condition } from '@temporalio/workflow';
import type { SandboxRecord, StopReason } from '../../model/sandbox/sandbox.ts';
import { controlUntilDone } from '../saga/control.ts';
import type { Turns } from '../saga/turns.ts';

interface Living {
  readonly id: string;
  readonly record: SandboxRecord;
  /** Something is being done to it, so it is not idle. */
  readonly isOperatedOn: boolean;
  readonly inbox: Turns;
}

/** When a sandbox ends by itself: at the end of its TTL, or when it has not been used for long enough. */
export class Deadline {
  #usedAt: number;
  #awaited = 0;
  #changes = 0;

  /** Hibernates a sandbox that wants that when it is idle; it is asked again as late should that fail. */
  hibernate: () => void = () => {};

  /** @param usedAt milliseconds since 1970, of an earlier run. `@default` now */
  constructor(
    private readonly life: Living,
    usedAt = Date.now(),
  ) {
    this.#usedAt = usedAt;
  }

  /** When it was used last, as far as this workflow has heard. Milliseconds since 1970. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /**
   * Resolves when it is reached, or somebody has asked for the end.
   * @param onReached hears of it at once: what is asked from then on is too late
   */
  async untilReached(asked: () => StopReason | null, onReached: () => void): Promise<StopReason> {
    for (;;) {
      const stopped = asked();
      if (stopped) {
        onReached();
        return stopped;
      }
      const { at, reason } = this.#next();
      this.#awaited = at;
      const left = at - Date.now();
      if (left <= 0) {
        if (reason === 'idle' && (await this.#usedMeanwhile())) continue;
        if (reason === 'idle' && this.life.record.spec.onIdle === 'hibernate') {
          this.#usedAt = Date.now();
          this.hibernate();
          continue;
        }
        if (await this.#isPutOff(onReached)) continue;
        return reason;
      }
      const seen = this.#changes;
      await condition(() => asked() !== null || this.#changes !== seen, left);
    }
  }

  /** The sandbox is in use, or its TTL has changed: it is reckoned anew. */
  used(): void {
    this.#usedAt = Date.now();
    if (this.#next().at !== this.#awaited) this.#changes++;
  }

  /** When it was last used, before this workflow began. @param at milliseconds since 1970 */
  lastUsed(at: number): void {
    this.#usedAt = at;
    this.#changes++;
  }

  /** What was asked for before its time was over counts, though it may not have been written yet. */
  #isPutOff(onReached: () => void): Promise<boolean> {
    return this.life.inbox.take(async () => {
      if (this.#next().at > Date.now()) return true;
      onReached();
      return false;
    });
  }

  #next(): { at: number; reason: StopReason } {
    const { record, isOperatedOn } = this.life;
    const ttl = Date.parse(record.expiresAt);
    const { idleSeconds } = record.spec;
    if (idleSeconds === null || isOperatedOn || record.state !== 'running') return { at: ttl, reason: 'ttl' };
    const idle = this.#usedAt + idleSeconds * 1000;
    return idle < ttl ? { at: idle, reason: 'idle' } : { at: ttl, reason: 'ttl' };
  }

  /**
   * Whether the sandbox was used since this workflow last heard of it. Uses are counted in the store, not signalled
   * here: a run takes only so many signals.
   */
  async #usedMeanwhile(): Promise<boolean> {
    const { usedAt, isBusy } = await controlUntilDone.lastUse({ sandboxId: this.life.id });
    const latest = isBusy ? Date.now() : Date.parse(usedAt);
    if (latest <= this.#usedAt) return false;
    this.#usedAt = latest;
    return true;
  }
}
