import { type ArgsDef, defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { subjectId } from './subject-id.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id of a sandbox or a source; all of them when left out', required: false },
} as const satisfies ArgsDef;

/** `mayfly audit export`: needs the audit key, so it runs where the control worker does. */
export function exportCommand(io: Io) {
  return defineCommand({
    meta: { name: 'export', description: 'Write the audit trail as JSON lines that another tool can verify' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const subjects = args.id ? [subjectId(args.id)] : null;
      const { exportAudit } = await import('../../worker/audit/export-audit.ts');
      await exportAudit(readConfig(io.env), subjects, (line) => io.write('stdout', Buffer.from(line)));
      return EXIT.ok;
    },
  });
}
