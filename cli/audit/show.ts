import { type ArgsDef, defineCommand } from 'citty';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { findSandboxId } from '../snapshot/named.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';
import { briefDetail } from './audit-detail.ts';

const ARGS = {
  id: {
    type: 'positional',
    description: 'Id or name of a sandbox, also of one that has ended',
    required: true,
  },
  ...LIST_OPTION,
} as const satisfies ArgsDef;
const HEADER = ['ENTRY', 'AT', 'WHAT', 'BY', 'WHICH'];

/** An entry with what its body says; `body` itself is what the hash is of. */
type Shown = AuditEntry & { event: AuditEvent };

function row({ seq, event }: Shown): string[] {
  const { at, kind, actor } = event;
  return [String(seq), at, kind, actor?.agentId ?? actor?.apiKeyId ?? '-', printable(briefDetail(event)).slice(0, 100)];
}

/** `mayfly audit show`: oldest first, all pages. */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show what the audit trail says of a sandbox, oldest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const client = connect(io);
      const id = await findSandboxId(client, args.id, io.signal);
      await printList(io, args, { header: HEADER, row }, async (range) => {
        const { items, nextCursor } = await client.sandboxAudit(id, range);
        return { items: items.map((entry) => ({ ...entry, event: JSON.parse(entry.body) as AuditEvent })), nextCursor };
      });
      return EXIT.ok;
    },
  });
}
