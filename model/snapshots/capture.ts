import { z } from 'zod';
import { actor, displayText, egress, hostRef, instant, stepFailure } from '../fields.ts';
import { savedDisk } from './snapshot.ts';

const savedCapture = z.object({
  disks: z.array(savedDisk),
  sizeBytes: z.int().describe('What all of it takes on the host by itself, without its parent'),
  quiesced: z.boolean().describe('File systems were frozen at that moment; otherwise they are as after a power cut'),
  capturedAt: instant.describe('The moment it is of'),
  parentId: z.string().nullable().describe('Only what changed since that capture was copied; null: all was'),
  fullBecause: z.string().nullable().describe('Why all was copied'),
});
/** Copy of a running source, verified by its host. */
export type SavedCapture = z.infer<typeof savedCapture>;

/**
 * creating → ready → deleting → deleted, or creating → failed
 *
 * `ready` only for a verified copy. `deleting` returns to `ready` when something refers to it. Records are never
 * removed. Written by the workflow that creates it, then by the one that deletes it.
 */
export const captureRecord = z.object({
  id: z.string(),
  project: z.string().describe('Of who took it'),
  projects: z.array(z.string()).describe('Projects that may clone it'),
  allowedEgress: egress.describe('The most that its clones can reach'),
  ...hostRef.shape,
  source: z.string().describe('The running golden VM that it is a copy of'),
  state: z.enum(['creating', 'ready', 'failed', 'deleting', 'deleted']),
  createdBy: actor,
  createdAt: instant,
  readyAt: instant.nullable(),
  saved: savedCapture.nullable().describe('Set once `ready`'),
  failure: stepFailure.nullable(),
  waitingFor: displayText()
    .nullable()
    .describe('What an undo that does not hold yet waits for, or what kept it from being deleted'),
});
export type CaptureRecord = z.infer<typeof captureRecord>;
export type CaptureState = CaptureRecord['state'];
