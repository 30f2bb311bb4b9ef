import { type ArgsDef, defineCommand } from 'citty';
import { isSourceId } from '../../model/ids.ts';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments, JSON_OPTION, sandboxId } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id of a sandbox or a source; all of them when left out', required: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly audit verify`: needs the audit key, so it runs where the control worker does. */
export function verifyCommand(io: Io) {
  return defineCommand({
    meta: { name: 'verify', description: 'Find any edit, drop, insert or truncation of the audit trail' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const ids = args.id ? [subjectId(args.id)] : [];
      const { verifyAudit } = await import('../../worker/upkeep/audit.ts');
      const results = await verifyAudit(readConfig(io.env), ids);
      const broken = [...results].filter(([, { ok }]) => !ok);
      if (args.json) {
        io.printJson({ ok: broken.length === 0, chains: Object.fromEntries(results) });
      } else {
        for (const [id, { problems }] of broken) {
          for (const { seq, kind, detail } of problems) {
            io.print(`${printable(id)} entry ${seq ?? '-'}: ${io.paint('red', kind)} ${printable(detail)}`);
          }
        }
        for (const [id, { waiting }] of results) {
          if (waiting)
            io.print(`${printable(id)}: ${io.paint('yellow', `${waiting} waiting`)} until it can be continued`);
        }
        const expired = [...results.values()].reduce((sum, one) => sum + (one.expired ?? 0), 0);
        if (expired > 0)
          io.print(`${expired} entries were exported and removed, and are vouched for by the ends of their chains`);
        io.print(`${results.size} chains, ${results.size - broken.length} whole, ${broken.length} tampered with`);
      }
      return broken.length === 0 ? EXIT.ok : EXIT.failed;
    },
  });
}

function subjectId(text: string): string {
  return isSourceId(text) ? text : sandboxId(text);
}
