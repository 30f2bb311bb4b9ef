import { type ArgsDef, defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import type { AuditVerification } from '../../worker/upkeep/audit.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { subjectId } from './subject-id.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id of a sandbox or a source; all of them when left out', required: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly audit verify`: needs the audit key, so it runs where the control worker does. */
export function verifyCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'verify',
      description: 'Find any edit, drop, insert or truncation of the audit trail, of whole chains too',
    },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const ids = args.id ? [subjectId(args.id)] : [];
      const { verifyAudit } = await import('../../worker/upkeep/audit.ts');
      const found = await verifyAudit(readConfig(io.env), ids);
      const isWhole = found.register.ok && [...found.chains.values()].every(({ ok }) => ok);
      if (args.json) {
        const { register, chains } = found;
        io.printJson({ ok: isWhole, register, chains: Object.fromEntries(chains) });
      } else {
        printRegister(io, found.register);
        printChains(io, found.chains);
      }
      return isWhole ? EXIT.ok : EXIT.failed;
    },
  });
}

function printRegister(io: Io, { entries, since, problems, notes }: AuditVerification['register']): void {
  for (const { number, kind, detail } of problems) {
    io.print(`register entry ${number ?? '-'}: ${io.paint('red', kind)} ${printable(detail)}`);
  }
  for (const note of notes) io.print(`register: ${printable(note)}`);
  const from = since === null ? 'has not begun' : `knows every chain since ${since}`;
  io.print(`register: ${entries} entries, ${from}`);
}

function printChains(io: Io, chains: AuditVerification['chains']): void {
  const broken = [...chains].filter(([, { ok }]) => !ok);
  for (const [id, { problems }] of broken) {
    for (const { seq, kind, detail } of problems) {
      io.print(`${printable(id)} entry ${seq ?? '-'}: ${io.paint('red', kind)} ${printable(detail)}`);
    }
  }
  for (const [id, { waiting }] of chains) {
    if (waiting) io.print(`${printable(id)}: ${io.paint('yellow', `${waiting} waiting`)} until it can be continued`);
  }
  const expired = [...chains.values()].reduce((sum, one) => sum + (one.expired ?? 0), 0);
  if (expired > 0)
    io.print(`${expired} entries were exported and removed, and are vouched for by the ends of their chains`);
  io.print(`${chains.size} chains, ${chains.size - broken.length} whole, ${broken.length} tampered with`);
}
