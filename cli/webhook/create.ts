import { type ArgsDef, defineCommand } from 'citty';
import { WEBHOOK_FORMATS, WEBHOOK_SIGNATURES, WEBHOOK_TYPES, type WebhookType } from '../../model/webhooks/endpoint.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

const ARGS = {
  url: { type: 'positional', description: 'Where events are sent to', required: true },
  types: {
    type: 'string',
    valueHint: 'run.ended,run.cleaned',
    description: `Which ones: ${WEBHOOK_TYPES.join(', ')}`,
    default: 'run.ended',
  },
  format: { type: 'enum', options: [...WEBHOOK_FORMATS], description: 'How they look', default: 'standard' },
  signature: { type: 'enum', options: [...WEBHOOK_SIGNATURES], description: 'How they are signed', default: 'v1' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly webhook create`: the secret alone is on stdout. */
export function createCommand(io: Io) {
  return defineCommand({
    meta: { name: 'create', description: 'Have events of the project sent to a URL; prints what verifies them' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { url, format, signature } = args;
      const wish = { url, types: typesOf(args.types), format, signature };
      const made = await connect(io).webhookEndpoints.create(wish, { signal: io.signal });
      if (args.json) io.printJson(made);
      else {
        io.note(`${made.id}: keep this, nothing shows a secret again`);
        io.print(made.secret ?? made.publicKeys[0] ?? '');
      }
      return EXIT.ok;
    },
  });
}

/** @throws CliError */
function typesOf(text: string): WebhookType[] {
  return text.split(',').map((given) => {
    const type = WEBHOOK_TYPES.find((each) => each === given.trim());
    if (type) return type;
    throw usageError(`${JSON.stringify(given)} is no type of webhooks`, `They are ${WEBHOOK_TYPES.join(', ')}.`);
  });
}
