import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { readConfig } from '../../worker/config/config.ts';
import { findSandboxId } from '../snapshot/named.ts';
import { positional } from '../terminal/arguments.ts';
import { customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/printable.ts';
import { briefDetail } from './audit-detail.ts';
import { subjectId } from './subject-id.ts';
import { verifyCommand } from './verify.ts';

const HEADER = ['ENTRY', 'AT', 'WHAT', 'BY', 'WHICH'];

/** An entry with what its body says; `body` itself is what the hash is of. */
type Shown = AuditEntry & { event: AuditEvent };

function row({ seq, event }: Shown): string[] {
  const { at, kind, actor } = event;
  return [String(seq), at, kind, actor?.agentId ?? actor?.apiKeyId ?? '-', printable(briefDetail(event)).slice(0, 100)];
}

/** `mayfly audit` */
export const auditCommand = nounCommand({
  /** Oldest first, all pages. */
  get: pagedCommand({
    description: 'Show what the audit trail says of a sandbox, oldest first',
    args: { id: positional('Id or name of a sandbox, also of one that has ended') },
    table: { header: HEADER, row },
    async read({ io, args, connect }) {
      const client = connect();
      const id = await findSandboxId(client, args.id, io.signal);
      return async (page) => {
        const { items, nextCursor } = await client.sandboxAudit(id, page);
        return { items: items.map((entry) => ({ ...entry, event: JSON.parse(entry.body) as AuditEvent })), nextCursor };
      };
    },
  }),
  verify: verifyCommand,
  /** Needs the audit key, so it runs where the control worker does. */
  export: customCommand({
    description: 'Write the audit trail as JSON lines that another tool can verify',
    args: {
      id: {
        type: 'positional',
        description: 'Id of a sandbox or a source; all of them when left out',
        required: false,
      },
    },
    async run({ io, args }) {
      const subjects = args.id ? [subjectId(args.id)] : null;
      const { exportAudit } = await import('../../worker/audit/export-audit.ts');
      await exportAudit(readConfig(io.env), subjects, (line) => io.write('stdout', Buffer.from(line)));
    },
  }),
  /** Needs the audit key, so it runs where the control worker does. */
  accept: customCommand({
    description: 'Have the register say that its missing entries are lost, as after a store was restored from a backup',
    args: { reason: positional('Why these entries are lost; it stays in the register') },
    async run({ io, args }) {
      const { acceptLoss } = await import('../../worker/upkeep/audit.ts');
      const gaps = await acceptLoss(readConfig(io.env), args.reason);
      io.print(gaps === 0 ? 'nothing is missing in the register' : `${gaps} gaps in the register are accepted`);
    },
  }),
});
