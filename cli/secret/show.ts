import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { NAME, secretName } from './names.ts';

const ARGS = { ...NAME, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly secret show`: its versions, and which runs were given which. */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show the versions of a secret, and which runs used which' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const found = await connect(io).secrets.get(secretName(args.name), { signal: io.signal });
      if (args.json) {
        io.printJson(found);
        return EXIT.ok;
      }
      io.print(`${printable(found.name)} version ${found.version}`);
      for (const warning of found.warnings) io.note(printable(warning));
      for (const { version, createdAt, createdBy } of found.versions) {
        io.print(`version ${version}  ${printable(createdAt)}  by ${printable(createdBy.apiKeyId)}`);
      }
      for (const { version, runId, attempt, at } of found.uses) {
        io.print(`used ${version}  ${printable(at)}  ${printable(runId)} attempt ${attempt}`);
      }
      return EXIT.ok;
    },
  });
}
