import { waitpointIdOf } from '../ids.ts';
import type { Actor } from '../sandbox/sandbox.ts';

/** `open` until it is completed, or its time is over; then never again. */
export const WAITPOINT_STATES = ['open', 'completed', 'expired'] as const;
type WaitpointState = (typeof WAITPOINT_STATES)[number];

/** As it is a part of a file's name in the guest. */
export const WAITPOINT_NAME = /^[a-z][a-z0-9-]{0,62}$/;
export const DEFAULT_WAITPOINT = 'default';

/**
 * A point at which the process of a run waits for data from outside. A run has one of each name, whoever speaks of it first:
 * its process, or a request.
 */
export interface WaitpointRecord {
  id: string;
  project: string;
  runId: string;
  name: string;
  state: WaitpointState;
  /** SHA-256 of the random parts of its tokens, hex: each completes it. */
  tokens: string[];
  expiresAt: string;
  /** When a process first asked for it; null: none has. */
  askedAt: string | null;
  /** JSON text; null: it is not completed. */
  data: string | null;
  completedAt: string | null;
  /** Null: its process made it. */
  createdBy: Actor | null;
  createdAt: string;
}

/** What the process of a run waits for. */
export interface AskedWaitpoint {
  name: string;
  timeoutSeconds: number;
}

/** As it is seen: its time is over also when nobody has written that down yet. */
export function stateOf({ state, expiresAt }: WaitpointRecord, now: number): WaitpointState {
  return state === 'open' && Date.parse(expiresAt) <= now ? 'expired' : state;
}

/** One that nobody has completed. @param now milliseconds since 1970 */
export function newWaitpoint(
  { id: runId, project }: { id: string; project: string },
  { name, timeoutSeconds }: AskedWaitpoint,
  createdBy: Actor | null,
  now: number,
): WaitpointRecord {
  return {
    id: waitpointIdOf(runId, name),
    project,
    runId,
    name,
    state: 'open',
    tokens: [],
    expiresAt: expiryOf(timeoutSeconds, now),
    askedAt: null,
    data: null,
    completedAt: null,
    createdBy,
    createdAt: new Date(now).toISOString(),
  };
}

/** ISO 8601. @param now milliseconds since 1970 */
function expiryOf(timeoutSeconds: number, now: number): string {
  return new Date(now + timeoutSeconds * 1_000).toISOString();
}
