import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, templateId, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { templateLines } from './template-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Template id', required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly template rm`: done when none wakes from it any more. */
export function removeCommand(io: Io) {
  return defineCommand({
    meta: { name: 'rm', description: 'Have a template go; what woke from it lives on' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const template = await connect(io).templates.delete(templateId(args.id), options);
      if (args.json) io.printJson(template);
      else for (const line of templateLines(io, template)) io.print(line);
      return template.state === 'gone' ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
