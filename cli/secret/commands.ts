import type { Secret } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { isSecretName } from '../../model/secrets/secret.ts';
import { createCheck, flag, positional } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/io.ts';

export const NAME = { name: positional('Name of a secret (`mayfly secret list`)') };

export const secretName = createCheck(
  isSecretName,
  'cannot name a secret',
  '1 to 63 of a-z, 0-9 and -; it begins with a letter, such as database-password.',
);

const HOW = 'Send it there, from a file or a program: `mayfly secret create NAME < file`.';

/** `mayfly secret create`: reads standard input only, since process lists show arguments, and shells save them. */
export const setCommand = command({
  description: 'Put what comes on standard input as a secret, or in its place',
  args: {
    ...NAME,
    'keep-newline': flag('Keep a line break at its end'),
  },
  async call({ args, connect, options }) {
    const name = secretName(args.name);
    if (process.stdin.isTTY) throw usageError('the secret is read from standard input', HOW);
    const text = await textOf(process.stdin);
    const value = args['keep-newline'] ? text : text.replace(/\r?\n$/, '');
    if (value === '') throw usageError('the secret is empty', HOW);
    return connect().secrets.put(name, value, options);
  },
  print: (_io, secret) => `${secret.name} version ${secret.version}`,
  exit(secret, io) {
    for (const warning of secret.warnings) io.note(printable(warning));
    return EXIT.ok;
  },
});

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

const HEADER = ['NAME', 'VERSION', 'MASKED', 'CHANGED'];

function row({ name, version, isMasked, updatedAt }: Secret): string[] {
  return [name, String(version), isMasked ? 'yes' : 'no', updatedAt];
}

export const secretCommand = nounCommand(
  {
    create: setCommand,
    list: pagedCommand({
      description: 'List secrets by name, without what they are',
      table: { header: HEADER, row },
      read: ({ connect, options }) => connect().secrets.list(options),
    }),
    /** Includes its versions, and the runs that used each. */
    get: command({
      description: 'Show the versions of a secret, and which runs used which',
      args: NAME,
      call: ({ args, connect, options }) => connect().secrets.get(secretName(args.name), options),
      print(io, found) {
        io.print(`${printable(found.name)} version ${found.version}`);
        for (const warning of found.warnings) io.note(printable(warning));
        for (const { version, createdAt, createdBy } of found.versions) {
          io.print(`version ${version}  ${printable(createdAt)}  by ${printable(createdBy.apiKeyId)}`);
        }
        for (const { version, runId, attempt, at } of found.uses) {
          io.print(`used ${version}  ${printable(at)}  ${printable(runId)} attempt ${attempt}`);
        }
      },
    }),
    delete: command({
      description: 'Delete a secret: runs whose function names it are not started any more',
      args: NAME,
      async call({ args, connect, options }) {
        const name = secretName(args.name);
        await connect().secrets.delete(name, options);
        return { name, state: 'deleted' };
      },
      print: (_io, { name }) => `${name} is deleted`,
    }),
  },
  { create: ['set', 'update'] },
);
