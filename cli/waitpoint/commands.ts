import { readFile } from 'node:fs/promises';
import type { Waitpoint } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { parseToken } from '../../model/waitpoints/token.ts';
import { DEFAULT_WAITPOINT, WAITPOINT_NAME } from '../../model/waitpoints/waitpoint.ts';
import { rawJsonOf } from '../function/input/event-data.ts';
import { RUN, runId } from '../function/input/names.ts';
import { option, seconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';

const HEADER = ['NAME', 'STATE', 'ASKED FOR', 'EXPIRES'];

function row({ name, state, askedAt, expiresAt }: Waitpoint): string[] {
  return [name, state, askedAt ?? 'not yet', expiresAt];
}

/** @throws CliError */
async function tokenIn(path: string): Promise<string> {
  const what = path === '-' ? 'standard input' : JSON.stringify(path);
  const text = await readFile(path === '-' ? '/dev/stdin' : path, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw usageError(`${what} cannot be read (${code})`, 'Name a file with the token, and no more.');
  });
  const token = text.trim();
  if (parseToken(token)) return token;
  throw usageError(`${what} is no token of a waitpoint`, 'Make one with `mayfly waitpoint create RUN NAME`.');
}

export const waitpointCommand = nounCommand({
  /** Also for a waitpoint that a process registered, which has no token yet. */
  create: command({
    description: 'Make a waitpoint unless it is there, and print a new token for it',
    args: {
      ...RUN,
      name: { type: 'positional', description: 'Name of the waitpoint', default: DEFAULT_WAITPOINT, required: false },
      timeout: option('How long it waits from now on; a day when it is made', '3d'),
    },
    async call({ args, connect, options }) {
      const { name, timeout } = args;
      if (!WAITPOINT_NAME.test(name)) {
        throw usageError(
          `${JSON.stringify(name)} cannot name a waitpoint`,
          '1 to 63 of a-z, 0-9 and -, a letter first.',
        );
      }
      const wish = {
        name,
        ...(timeout !== undefined && {
          timeoutSeconds: seconds('timeout', timeout, LIMITS.functions.waitpoints.timeoutSeconds),
        }),
      };
      return connect().waitpoints.create(runId(args.id), wish, options);
    },
    print(io, made) {
      io.print(made.token);
      io.note(`until ${made.expiresAt}; data is sent by POST to`);
      io.note(new URL(made.path, findConnection(io.env).apiUrl).href);
    },
  }),
  list: pagedCommand({
    description: 'List the waitpoints of a run, the oldest first',
    args: RUN,
    table: { header: HEADER, row },
    read({ args, connect, options }) {
      const id = runId(args.id);
      return () => connect().waitpoints.list(id, options);
    },
  }),
  /** Reads the token from a file, since process lists show arguments, and shells save them. */
  complete: command({
    description: 'Send what a process waits for; the token comes on standard input',
    args: {
      'token-file': { type: 'string', valueHint: 'path', description: 'A file with the token', default: '-' },
      data: {
        type: 'string',
        alias: 'd',
        valueHint: 'JSON',
        description: 'What the process is given',
        default: 'null',
      },
      file: option('A file with it', 'path'),
    },
    async call({ args, connect, options }) {
      const data = await rawJsonOf(args.file === undefined ? { text: args.data } : { path: args.file });
      const token = await tokenIn(args['token-file']);
      return connect().waitpoints.complete(token, data, options);
    },
    print: (_io, done) => `${done.name} was completed at ${done.completedAt}`,
  }),
});
