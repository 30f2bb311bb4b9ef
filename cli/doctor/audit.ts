import type { AuditFault } from '../../store/audit/audit-queue.ts';
import type { Config } from '../../worker/config/config.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { orWhyNot } from './or-why-not.ts';

/** Audit trails that can't be continued, or why nobody knows. */
type AuditLook = { auditFaults: AuditFault[] } | { auditUnknown: string };

export async function lookForAuditFaults(config: Config): Promise<AuditLook> {
  const { findAuditFaults } = await import('../../worker/upkeep/audit.ts');
  const found = await orWhyNot(findAuditFaults(config));
  return 'why' in found ? { auditUnknown: found.why } : { auditFaults: found.result };
}

export function isAuditWhole(look: AuditLook): boolean {
  return 'auditUnknown' in look || look.auditFaults.length === 0;
}

export function auditLines(io: Io, look: AuditLook): string[] {
  if ('auditUnknown' in look) return [`whether the audit trail goes on is not known: ${printable(look.auditUnknown)}`];
  return look.auditFaults.map(({ sandboxId, waiting, since, why }) => {
    const events = waiting === 1 ? '1 event waits' : `${waiting} events wait`;
    return `${io.paint('red', 'audit')} ${printable(sandboxId)}: ${events} since ${printable(since)}: ${printable(why)}`;
  });
}
