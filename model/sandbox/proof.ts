import { z } from 'zod';
import { instant, observer, optional } from '../fields.ts';
import { LAYERS } from './layers.ts';

const observation = z.object({
  layer: z.enum(LAYERS),
  lookedAt: z
    .string()
    .min(0)
    .describe('In the terms of the machine: `virsh list --all --name`, a directory, a lease file'),
  absent: z.boolean().describe('Nothing of this sandbox was found there'),
  found: optional(z.string()).describe('What was found when something was'),
  at: instant.describe('When the look ended'),
  by: optional(observer).describe('Who looked, and at which machine; absent where no host was asked'),
});
/** Observation of one layer: the query to the machine, and its answer. */
export type Observation = z.infer<typeof observation>;

/** Result of a destroy: every layer was inspected after the last removal, and found empty. */
export const proof = z.object({
  sandboxId: z.string(),
  hostId: z.string().nullable(),
  observations: z.array(observation),
  provedAt: instant.describe('Time of the last look'),
  unproved: optional(z.string()).describe(
    'Why nobody could look: then nothing is proved. Absent: everything was looked at',
  ),
});
export type Proof = z.infer<typeof proof>;
