import type { AgentSession } from '../../host/guest/agent-session.ts';
import { pause } from '../../host/os/abort.ts';
import type { StepContext } from '../../host/step-context.ts';
import { MayflyError } from '../../model/errors.ts';
import { GUEST_FOLDER, waitpointsFolder } from '../../model/functions/guest-layout.ts';
import { isRunId } from '../../model/ids.ts';
import { buildTar, type TarEntry } from '../../model/image/tar.ts';
import { LIMITS } from '../../model/limits.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { parseRequestFile } from '../../model/waitpoints/asked-files.ts';
import { getEffectiveState, type WaitpointRecord, type WaitpointRequest } from '../../model/waitpoints/waitpoint.ts';
import type { Store } from '../../store/connect.ts';
import { GuestRequests } from '../function/guest-requests.ts';
import { withHeartbeats } from '../step/step-context.ts';

export interface WaitpointHostDeps {
  guests: { agent(sandboxId: string, context: StepContext): Promise<Pick<AgentSession, 'request'>> };
  functions: { store: Pick<Store, 'waitpoints'> };
}

interface FollowedWaits {
  runId: string;
  attemptId: string;
  /** Names of the known waitpoints. */
  asked: string[];
  /** Names of waitpoints delivered to the guest. */
  given: string[];
  /** Time without a change after which the call returns, ms; null: never. `@default` null */
  restMs?: number | null;
}

/** Change in a guest: names of all delivered waitpoints, new ones, and expired ones. */
export interface ChangedWaits {
  asked: WaitpointRequest[];
  due: string[];
  given: string[];
  /** True when nothing changed for `restMs`. */
  isStill?: true;
}

/** Interval between two polls of a guest, which grows while nothing there waits. Milliseconds. */
const POLL = { firstMs: 1_000, mostMs: 5_000, factor: 1.2 };

/**
 * Activity for waitpoints of a run on its sandbox's host. Their data goes from the store to the guest, never through a
 * payload.
 */
export function createWaitpointHostActivities({ guests, functions: { store } }: WaitpointHostDeps) {
  return {
    /**
     * Delivers data to a guest's waitpoints, also repeatedly, until a change must be recorded. Retries an unreachable
     * guest without limit.
     */
    async followWaitpoints(followed: FollowedWaits): Promise<ChangedWaits> {
      const { runId, attemptId } = followed;
      if (!isRunId(runId) || !isSandboxId(attemptId))
        throw new MayflyError('invalid_id', 'That is no run, or no sandbox.');
      const look = new GuestPoll(followed, store);
      return withHeartbeats('looking at the guest', (context) => {
        const guestOf = async () => new GuestRequests(await guests.agent(attemptId, context), context.signal);
        return pollUntilChanged(look, guestOf, context);
      });
    },
  };
}

/** @throws the signal's reason */
async function pollUntilChanged(look: GuestPoll, guestOf: () => Promise<GuestRequests>, context: StepContext) {
  const stillAt = look.restMs === null ? Number.POSITIVE_INFINITY : Date.now() + look.restMs;
  for (let pauseMs = POLL.firstMs; ; pauseMs = Math.min(POLL.mostMs, pauseMs * POLL.factor)) {
    try {
      const changed = await look.once(await guestOf());
      if (changed) return changed;
      context.alive('nothing has changed');
      if (Date.now() >= stillAt) return look.still;
      if (look.isWaiting) pauseMs = POLL.firstMs;
    } catch (error) {
      context.signal.throwIfAborted();
      context.alive(error instanceof MayflyError ? error.code : 'the guest does not answer as it should');
    }
    const untilStill = Math.max(0, stillAt - Date.now());
    await pause(Math.min(pauseMs, untilStill || POLL.firstMs), context.signal);
  }
}

class GuestPoll {
  /** True while a process waits for an open waitpoint. */
  isWaiting = true;
  readonly #asked: Set<string>;
  readonly #given: Set<string>;

  constructor(
    private readonly followed: FollowedWaits,
    private readonly store: Pick<Store, 'waitpoints'>,
  ) {
    this.#asked = new Set(followed.asked);
    this.#given = new Set(followed.given);
  }

  get restMs(): number | null {
    return this.followed.restMs ?? null;
  }

  get still(): ChangedWaits {
    return { asked: [], due: [], given: [...this.#given], isStill: true };
  }

  /** Polls once. Null: no change to record. */
  async once(guest: GuestRequests): Promise<ChangedWaits | null> {
    const all = await this.store.waitpoints.list(this.followed.runId);
    const due = all.filter((each) => each.state === 'open' && getEffectiveState(each, Date.now()) === 'expired');
    const news = all.filter(({ name, state }) => state !== 'open' && !this.#given.has(name));
    // Read before the delivery: a waitpoint that a process registers after a delivery belongs to the next poll, and
    // blocks it.
    const asked = await this.#newlyAsked(guest);
    if (news.length > 0) await this.#give(guest, news);
    this.isWaiting = all.some(({ name, state }) => state === 'open' && this.#asked.has(name));
    const isChange = due.length > 0 || asked.length > 0 || news.some(({ name }) => this.#asked.has(name));
    return isChange ? { asked, due: due.map(({ name }) => name), given: [...this.#given] } : null;
  }

  /** Delivers data; each file appears atomically. */
  async #give(guest: GuestRequests, answered: readonly WaitpointRecord[]): Promise<void> {
    const { runId } = this.followed;
    const entries = answered.map(({ name, state, data }): TarEntry => {
      const path = `${waitpointsFolder(runId)}/${name}.${state === 'completed' ? 'data' : 'expired'}`;
      return {
        path,
        type: 'file',
        mode: 0o644,
        bytes: Buffer.from(state === 'completed' ? `${data}\n` : ''),
        link: null,
      };
    });
    await guest.putTar(GUEST_FOLDER, buildTar(entries), null);
    for (const { name } of answered) this.#given.add(name);
  }

  async #newlyAsked(guest: GuestRequests): Promise<WaitpointRequest[]> {
    const files = await guest.files(`${GUEST_FOLDER}/${waitpointsFolder(this.followed.runId)}`);
    const asked = new Map<string, WaitpointRequest>();
    for (const each of files.map(parseRequestFile)) {
      if (each && !this.#asked.has(each.name) && !asked.has(each.name)) asked.set(each.name, each);
    }
    return [...asked.values()].slice(0, LIMITS.functions.waitpoints.count - this.#asked.size);
  }
}
