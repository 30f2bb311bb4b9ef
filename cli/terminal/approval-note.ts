import type { Approval } from '../../clients/typescript/http/openapi.ts';
import type { Io } from './io.ts';

/** Of the digest, in what is told to be typed: 48 bits of what was shown. */
export const SHORT_DIGEST = 12;

export function decideLine(verb: 'approve' | 'refuse', { id, digest }: Approval): string {
  return `mayfly approval ${verb} ${id} --digest ${digest.slice(0, SHORT_DIGEST)}`;
}

/** Tells who runs a command that it waits, and how that ends. */
export function tellOfApproval(io: Io, approval: Approval): void {
  io.note(`Waiting for approval ${approval.id} (${approval.rules.join(', ')}), until ${approval.expiresAt}.`);
  io.note(`  Somebody with ${approval.role} decides: ${decideLine('approve', approval)}`);
}
