import type { z } from '@hono/zod-openapi';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { strip } from '../schema/strip.ts';
import { sandboxAnswer } from './sandbox-schemas.ts';

export type SandboxView = z.infer<typeof sandboxAnswer>;

/** Strips a record: what is later added to records, such as a path on a host, does not leak by itself. */
export function sandboxView(record: SandboxRecord): SandboxView {
  const { spec, size, boot = null, auditFault = null } = record;
  const { onIdle = 'destroy', captureId = null, boot: way = 'auto' } = spec;
  // What the source has, where nothing was asked for.
  const cpus = spec.cpus ?? size?.cpus ?? null;
  const memoryMib = spec.memoryMib ?? size?.memoryMib ?? null;
  const asked = { ...spec, captureId, cpus, memoryMib, onIdle, boot: way };
  return strip(sandboxAnswer, { ...record, spec: asked, boot, auditFault });
}
