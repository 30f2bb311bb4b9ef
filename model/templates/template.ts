import { z } from 'zod';
import { actor, displayText, hostRef, instant } from '../fields.ts';

/**
 * building → verifying → ready → stale → removing → gone, or building, verifying → failed → gone
 *
 * Sandboxes wake only from a `ready` template. `stale`: its host no longer wakes from it. `failed`: fully compensated;
 * `gone` once replaced, or when no template is requested.
 */
const templateState = z.enum(['building', 'verifying', 'ready', 'stale', 'removing', 'failed', 'gone']);
export type TemplateState = z.infer<typeof templateState>;
export const TEMPLATE_STATES = templateState.options;

/** States that lists show. */
export const PRESENT_TEMPLATE_STATES = templateState.exclude(['gone']).options;

/** Written only by the workflow of its key. */
export const templateRecord = z.object({
  id: z.string().describe('Of the snapshot with memory that it is'),
  key: z.string().describe('All that a machine which wakes from it must find unchanged'),
  project: z.string(),
  ...hostRef.shape,
  source: z.string(),
  cpus: z.int().nullable().describe('Null: as the source has'),
  memoryMib: z.int().nullable(),
  state: templateState,
  reason: displayText().nullable().describe('Why it has failed, or is to go'),
  retryAt: instant.nullable().describe('Before this no other is begun in its place'),
  builderId: z.string().describe('Sandbox whose memory it is: gone before it is `ready`, or `failed`'),
  probeIds: z.array(z.string()).describe('Sandboxes that tried to wake from it: gone likewise'),
  createdBy: actor.describe('Who asked for it first'),
  createdAt: instant,
  savedAt: instant.nullable().describe('When its memory was saved'),
  readyAt: instant.nullable(),
  wakes: z.int().describe('Sandboxes that woke from it, as its host told some minutes ago at most'),
  lastUsedAt: instant.nullable(),
  sizeBytes: z.int().nullable().describe('On its host; null: not saved yet'),
  waitingFor: displayText().nullable().describe("What a build, or a removal, that can't go on waits for"),
  updatedAt: instant,
});
export type TemplateRecord = z.infer<typeof templateRecord>;
/** Machine of a template, and the project that may use it. */
export type TemplateSubject = Pick<TemplateRecord, 'project' | 'source' | 'cpus' | 'memoryMib'>;
