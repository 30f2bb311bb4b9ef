import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CommandSpec } from '../../model/sandbox/command.ts';
import type { Sandboxes } from '../../store/sandboxes/sandboxes.ts';

/** Time from a command's deadline until its guest is given up; the agent gives up after 10 s. Milliseconds. */
const EXTRA_MS = 120_000;
/** Interval between two reads of the sandbox's state, ms. */
const POLL_INTERVAL_MS = 30_000;

/**
 * Enforces a command's timeout for a guest that ignores both timeout and cancel: its disk is frozen, or it lies. Time
 * counts while the sandbox runs.
 */
export class CommandDeadline {
  readonly #over = new AbortController();
  readonly #ended = new AbortController();
  readonly #graceMs: number;
  #leftMs: number;

  /** @param spareMs `@default` 120,000 */
  constructor({ timeoutSeconds, graceSeconds = LIMITS.command.graceSeconds }: CommandSpec, spareMs = EXTRA_MS) {
    this.#graceMs = graceSeconds * 1_000 + spareMs;
    this.#leftMs = timeoutSeconds * 1_000 + this.#graceMs;
  }

  /** Fires with a MayflyError guest_failed. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Shortens the time to the grace period once the guest has accepted a cancel. */
  cancelled(): void {
    this.#leftMs = Math.min(this.#leftMs, this.#graceMs);
  }

  /** Counts until {@link end}. Resolves then, or at the timeout. */
  async watch(sandboxes: Pick<Sandboxes, 'get'>, sandboxId: string): Promise<void> {
    const { signal } = this.#ended;
    for (let since = performance.now(); !signal.aborted; ) {
      await sleep(Math.min(this.#leftMs, POLL_INTERVAL_MS), undefined, { signal, ref: false }).catch(() => undefined);
      const runs = (await sandboxes.get(sandboxId).catch(() => null))?.state === 'running';
      const now = performance.now();
      if (runs) this.#leftMs -= now - since;
      since = now;
      if (this.#leftMs > 0) continue;
      const why = 'The time of the command is over, and its guest does not say how it ended: its disk may be frozen.';
      return this.#over.abort(new MayflyError('guest_failed', why));
    }
  }

  end(): void {
    this.#ended.abort();
  }
}
