import { z } from 'zod';
import { actor, encryptedField, instant } from '../fields.ts';
import { deriveWaitpointId } from '../ids.ts';
import type { Actor } from '../sandbox/sandbox.ts';

/** Name of a waitpoint, which is part of a file name in the guest. */
export const WAITPOINT_NAME = /^[a-z][a-z0-9-]{0,62}$/;
export const DEFAULT_WAITPOINT = 'default';

/**
 * Point at which a run's process waits for external data. Unique by name within a run, whether its process or a request
 * creates it first.
 */
export const waitpointRecord = z.object({
  id: z.string(),
  project: z.string(),
  runId: z.string(),
  name: z.string(),
  state: z
    .enum(['open', 'completed', 'expired'])
    .describe('`open` until it is completed, or its time is over; then never again'),
  tokens: z.array(z.string()).describe('SHA-256 of the random parts of its tokens, hex: each completes it'),
  expiresAt: instant,
  askedAt: instant.nullable().describe('When a process first asked for it; null: none has'),
  data: encryptedField(z.string()).nullable().describe('JSON text; null: it is not completed'),
  completedAt: instant.nullable(),
  createdBy: actor.nullable().describe('Null: its process made it'),
  createdAt: instant,
});
export type WaitpointRecord = z.infer<typeof waitpointRecord>;

/** Waitpoint requested by a run's process. */
export interface WaitpointRequest {
  name: string;
  timeoutSeconds: number;
}

/** Returns the effective state: expired after its deadline even if the record is not updated. */
export function getEffectiveState({ state, expiresAt }: WaitpointRecord, now: number): WaitpointRecord['state'] {
  return state === 'open' && Date.parse(expiresAt) <= now ? 'expired' : state;
}

/** Builds a new waitpoint. @param now ms since 1970 */
export function newWaitpoint(
  { id: runId, project }: { id: string; project: string },
  { name, timeoutSeconds }: WaitpointRequest,
  createdBy: Actor | null,
  now: number,
): WaitpointRecord {
  return {
    id: deriveWaitpointId(runId, name),
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

/** Returns ISO 8601. @param now ms since 1970 */
function expiryOf(timeoutSeconds: number, now: number): string {
  return new Date(now + timeoutSeconds * 1_000).toISOString();
}
