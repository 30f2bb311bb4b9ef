import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { NAME, secretName } from './names.ts';

const ARGS = {
  ...NAME,
  'keep-newline': { type: 'boolean', description: 'Keep a line break at its end', default: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

const HOW = 'Send it there, from a file or a program: `mayfly secret set NAME < file`.';

/** `mayfly secret set`: from standard input alone, since arguments are seen by who lists processes, and kept by shells. */
export function setCommand(io: Io) {
  return defineCommand({
    meta: { name: 'set', description: 'Put what comes on standard input as a secret, or in its place' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = secretName(args.name);
      if (process.stdin.isTTY) throw usageError('the secret is read from standard input', HOW);
      const text = await textOf(process.stdin);
      const value = args['keep-newline'] ? text : text.replace(/\r?\n$/, '');
      if (value === '') throw usageError('the secret is empty', HOW);
      const secret = await connect(io).secrets.put(name, value, { signal: io.signal });
      if (args.json) io.printJson(secret);
      else io.print(`${secret.name} version ${secret.version}`);
      for (const warning of secret.warnings) io.note(printable(warning));
      return EXIT.ok;
    },
  });
}

/** @throws CliError */
export async function textOf(input: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  const { bytes: most } = LIMITS.functions.secrets;
  for await (const piece of input) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > most + 2) throw usageError(`the secret has more than ${most} bytes`, 'Keep what is larger in files.');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
  } catch {
    throw usageError('the secret is no UTF-8', 'Encode it, as base64 for example, and have the function decode it.');
  }
}
