import { z } from 'zod';
import { actor, displayText, hostRef, instant, stepFailure } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { savedDisk } from './snapshot.ts';

const bakedImage = z.object({
  disks: z.array(savedDisk),
  sizeBytes: z.int().describe('What all of it takes on the host'),
});
/** Images that a host made from a snapshot; they have no backing files. */
export type BakedImage = z.infer<typeof bakedImage>;

/**
 * baking → ready → deleting → deleted, or baking → failed
 *
 * `ready` only once its host lists it as a source. A refused deletion returns to `ready`. A name can be baked again
 * once it is `failed` or `deleted`. Written by the workflows of its name.
 */
export const bakedSource = z.object({
  id: z.string(),
  project: z.string().describe('Of who had it made'),
  ...hostRef.shape,
  name: z.string(),
  state: z.enum(['baking', 'ready', 'failed', 'deleting', 'deleted']),
  bakeId: z.string().describe('The one bake that made it, or failed to'),
  snapshotId: z.string(),
  sandboxId: z.string().describe('Whose snapshot that is'),
  builderId: z.string().describe('The sandbox in which it was cleaned; it ends with the bake'),
  createdBy: actor,
  createdAt: instant,
  readyAt: instant.nullable(),
  image: bakedImage.nullable().describe('Set once `ready`'),
  failure: stepFailure.nullable().describe('Why it was not baked, or why it was not deleted'),
  waitingFor: displayText().nullable().describe('What an undo that does not hold yet waits for'),
  updatedAt: instant,
});
export type BakedSource = z.infer<typeof bakedSource>;
export type BakedSourceState = BakedSource['state'];

const NAME = /^[A-Za-z][A-Za-z0-9._-]*$/;
/** Names that virsh would take for a domain's UUID, or that look like Mayfly's ids. */
const RESERVED_NAMES = /^(?:[0-9a-f-]{32,}|(?:sbx|src|snp|opn|cmd)-.*)$/i;

/** True for names allowed for baked sources: they become a path and a word of a virsh command. */
export function isBakedSourceName(name: string): boolean {
  return name.length <= LIMITS.bakedSourceName.maxLength && NAME.test(name) && !RESERVED_NAMES.test(name);
}
