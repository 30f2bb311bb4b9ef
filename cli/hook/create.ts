import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ArgsDef } from 'citty';
import type { CreateHook, Hook } from '../../clients/typescript/http/openapi.ts';
import { isHookId } from '../../model/ids.ts';
import type { SignatureScheme } from '../../model/webhooks/signature-scheme.ts';
import { newSecret } from '../../services/webhooks/signing/standard-key.ts';
import { functionName, NAME } from '../function/input/names.ts';
import { createCheck, option, positional } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';
import { type Io, recordLines } from '../terminal/io.ts';

const FROM = 'MAYFLY_HOOK_SECRET';

/**
 * Reads a secret from a file or the environment, since every user can read a process's arguments. @returns null: none
 * is given. @throws CliError
 */
async function readSecret(env: NodeJS.ProcessEnv, file: string | undefined): Promise<string | null> {
  if (file === undefined) return env[FROM] || null;
  const text = await readFile(file === '-' ? '/dev/stdin' : file, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw usageError(`${JSON.stringify(file)} cannot be read (${code})`, 'Name a file with the secret, and no more.');
  });
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw usageError(`${JSON.stringify(file)} is empty`, 'Name a file with the secret, and no more.');
  return secret;
}

/** @throws CliError when there is none */
export async function requiredSecret(env: NodeJS.ProcessEnv, file: string | undefined): Promise<string> {
  const secret = await readSecret(env, file);
  if (secret !== null) return secret;
  throw usageError('the secret is missing', `Give it by --secret-file, or set ${FROM}.`);
}

export const HOOK_HEADER = ['ID', 'FUNCTION', 'SCHEME', 'STATE', 'CREATED'];

export function hookRow({ id, function: name, scheme, disabledAt, createdAt }: Hook): string[] {
  return [id, name, scheme, disabledAt === null ? 'takes events' : 'disabled', createdAt];
}

/** Formats a hook for a person. @param apiUrl base URL for senders, unless the hook has its own */
export function hookLines(io: Io, hook: Hook, apiUrl: string): string[] {
  const { hmac, filter, allowedOrigins, disabledAt, secretCount } = hook;
  const fields: [string, string][] = [
    ['URL', hook.url ?? new URL(hook.path, apiUrl).href],
    ['function', hook.function],
    ['scheme', hmac === null ? hook.scheme : hmacText(hmac)],
    ['secrets', secretCount === 1 ? '1' : `${secretCount}: one is rotated`],
    ['filter', filter === null ? 'none: all events are run' : JSON.stringify(filter)],
    ['state', disabledAt === null ? 'takes events' : `disabled since ${disabledAt}`],
    ['created', hook.createdAt],
  ];
  if (allowedOrigins.length > 0) fields.push(['origins', allowedOrigins.join(', ')]);
  return recordLines(io, hook.id, fields);
}

function hmacText({ algorithm, encoding, header, prefix, timestampHeader }: NonNullable<Hook['hmac']>): string {
  const after = prefix ? ` after ${prefix}` : '';
  const time = timestampHeader ? `, with the time of ${timestampHeader}` : '';
  return `hmac, ${algorithm} as ${encoding} in ${header}${after}${time}`;
}

export const HOOK = { id: positional('Id of a hook (`mayfly hook list`)') };

export const SECRET_FILE = {
  'secret-file': option('A file with the secret; - for standard input. Else MAYFLY_HOOK_SECRET', 'path'),
} as const satisfies ArgsDef;

/** @throws CliError when `text` is not the id of a hook */
export const hookId = createCheck(isHookId, 'is not the id of a hook', 'List them with `mayfly hook list FUNCTION`.');

type Scheme = SignatureScheme['scheme'];
const SCHEMES: readonly Scheme[] = ['github', 'stripe', 'standard-webhooks', 'hmac', 'bearer', 'basic'];
const SECRET_BYTES = 32;

/** `mayfly hook create`: generates a secret, shown once, unless one is given. */
export const createCommand = command({
  description: 'Make a way in for signed events from outside, to one function',
  args: {
    ...NAME,
    scheme: { type: 'string', valueHint: SCHEMES.join('|'), description: 'How senders sign', required: true },
    ...SECRET_FILE,
    header: option('Of hmac, which needs it: the header with the signature'),
    prefix: option('Of hmac: what stands before the signature, such as sha256='),
    encoding: option('Of hmac; hex unless given', 'hex|base64|base64url'),
    algorithm: option('Of hmac; sha256 unless given', 'sha256|sha512|sha1'),
    'timestamp-header': option('Of hmac: the header with the seconds since 1970'),
    type: option('Only events of this type; may be given more than once'),
  },
  repeatable: ['type'],
  async call({ io, args, repeated, connect, options }) {
    const types = repeated('type');
    const scheme = SCHEMES.find((each) => each === args.scheme);
    if (!scheme) throw usageError(`--scheme must be one of ${SCHEMES.join(', ')}`);
    const given = await readSecret(io.env, args['secret-file']);
    const secret = given ?? generateSecret(scheme);
    const hmac = hmacOf(scheme, args);
    const request: CreateHook = {
      function: functionName(args.name),
      scheme,
      secrets: [secret],
      ...(hmac && { hmac }),
      ...(types.length > 0 && { filter: { types } }),
    };
    const hook = await connect().hooks.create(request, options);
    return given === null ? { ...hook, secret } : hook;
  },
  print(io, hook) {
    const lines = hookLines(io, hook, findConnection(io.env).apiUrl);
    return 'secret' in hook ? [...lines, `  secret    ${hook.secret}`] : lines;
  },
  exit(hook, io) {
    if ('secret' in hook) io.note('The secret is not shown again.');
    return EXIT.ok;
  },
});

/** @throws CliError when only the sender can create the secret */
function generateSecret(scheme: Scheme): string {
  if (scheme === 'standard-webhooks') return newSecret();
  if (scheme !== 'stripe' && scheme !== 'basic') return randomBytes(SECRET_BYTES).toString('base64url');
  const what = scheme === 'stripe' ? 'the whsec_… that Stripe shows for the endpoint' : 'user:password';
  throw usageError('the secret is missing', `Give ${what} by --secret-file, or set MAYFLY_HOOK_SECRET.`);
}

/** @throws CliError for options of another scheme, or a missing header */
function hmacOf(scheme: Scheme, args: Partial<Record<string, unknown>>): CreateHook['hmac'] | null {
  const names = { header: 'header', prefix: 'prefix', encoding: 'encoding', algorithm: 'algorithm' } as const;
  const given = Object.entries({ ...names, timestampHeader: 'timestamp-header' })
    .map(([name, option]) => [name, args[option], option] as const)
    .filter(([, value]) => value !== undefined);
  if (scheme === 'hmac' && args['header'] === undefined) {
    throw usageError('--header is missing', 'It names the header that has the signature, such as X-Signature.');
  }
  if (scheme !== 'hmac' && given.length > 0) throw usageError(`--${given[0]?.[2]} is of --scheme hmac alone`);
  return given.length === 0 ? null : (Object.fromEntries(given) as unknown as CreateHook['hmac']);
}
