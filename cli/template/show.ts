import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, templateId } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { templateLines } from './template-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Template id', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly template show` */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a template' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const template = await connect(io).templates.get(templateId(args.id), { signal: io.signal });
      if (args.json) io.printJson(template);
      else for (const line of templateLines(io, template)) io.print(line);
      return EXIT.ok;
    },
  });
}
