import { z } from 'zod';
import { instant, observer, optional } from './fields.ts';

export const sourceInfo = z.object({
  name: z.string(),
  cloneable: z.boolean().describe('Whether it can be cloned now; if not, `problem` says why'),
  problem: z.string().nullable(),
  cpus: z.int(),
  memoryMib: z.int(),
  diskBytes: z.int().describe('Virtual size of all its disks: what one clone can grow to'),
  content: optional(z.string().nullable()).describe(
    'A digest of what its disks hold; null, or absent, while nobody has read them, or it runs',
  ),
});

/** Host as its worker last described it; written only by that worker. */
export const hostRecord = z.object({
  id: z.string(),
  installationId: z.string(),
  hostUuid: observer.shape.hostUuid,
  epoch: z
    .int()
    .describe('Raised by every start of a worker: the one with the highest serves the host, any other is fenced off'),
  kind: observer.shape.kind,
  isolation: z.enum(['kvm', 'tcg', 'none']).describe('`none`: a simulated host isolates nothing'),
  capacity: z
    .object({
      cpus: z.int(),
      memoryTotalMib: z.number(),
      memoryAvailableMib: z
        .number()
        .describe("Free, buffers and caches (libvirt's nodememstats), not what nodeinfo calls memory size"),
      diskTotalBytes: z.number(),
      diskAvailableBytes: z.number(),
    })
    .describe('What the machine has and what is free of it, as measured'),
  promised: z
    .object({ memoryMib: z.number(), diskBytes: z.number(), sandboxes: z.int() })
    .describe('Promised to sandboxes on this host, whether they have grown into it or not'),
  sources: z.array(sourceInfo),
  startedAt: instant,
  lastSeenAt: instant.describe("By the store's clock"),
  drainedAt: optional(instant.nullable()).describe(
    'Since when it is given no more sandboxes, because an admin said so; null, or absent: it is given some',
  ),
  forgottenAt: optional(instant.nullable()).describe(
    'When an admin gave it up; null, or absent: nobody did. Should it come back, it is given sandboxes again once nothing is left on it that belongs to nobody',
  ),
});
