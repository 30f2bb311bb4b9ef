import { readFile } from 'node:fs/promises';
import { type ArgsDef, defineCommand } from 'citty';
import { partsOf } from '../../model/waitpoints/token.ts';
import { rawJsonOf } from '../function/input/event-data.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

const ARGS = {
  'token-file': { type: 'string', valueHint: 'path', description: 'A file with the token', default: '-' },
  data: { type: 'string', alias: 'd', valueHint: 'JSON', description: 'What the process is given', default: 'null' },
  file: { type: 'string', valueHint: 'path', description: 'A file with it' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly waitpoint complete`: the token is no argument, since those are seen by who lists processes, and kept by shells. */
export function completeCommand(io: Io) {
  return defineCommand({
    meta: { name: 'complete', description: 'Send what a process waits for; the token comes on standard input' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const data = await rawJsonOf(args.file === undefined ? { text: args.data } : { path: args.file });
      const token = await tokenIn(args['token-file']);
      const done = await connect(io).waitpoints.complete(token, data, { signal: io.signal });
      if (args.json) io.printJson(done);
      else io.print(`${done.name} was completed at ${done.completedAt}`);
      return EXIT.ok;
    },
  });
}

/** @throws CliError */
async function tokenIn(path: string): Promise<string> {
  const what = path === '-' ? 'standard input' : JSON.stringify(path);
  const text = await readFile(path === '-' ? '/dev/stdin' : path, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw usageError(`${what} cannot be read (${code})`, 'Name a file with the token, and no more.');
  });
  const token = text.trim();
  if (partsOf(token)) return token;
  throw usageError(`${what} is no token of a waitpoint`, 'Make one with `mayfly waitpoint create RUN NAME`.');
}
