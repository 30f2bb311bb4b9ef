import { randomBytes } from 'node:crypto';
import type { CreateHook } from '../../clients/typescript/http/openapi.ts';
import type { SignatureScheme } from '../../model/webhooks/signature-scheme.ts';
import { newSecret } from '../../services/webhooks/signing/standard-key.ts';
import { functionName, NAME } from '../function/input/names.ts';
import { option } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { SECRET_FILE } from './hook-args.ts';
import { hookLines } from './hook-text.ts';
import { givenSecret } from './secret-input.ts';

type Scheme = SignatureScheme['scheme'];
const SCHEMES: readonly Scheme[] = ['github', 'stripe', 'standard-webhooks', 'hmac', 'bearer', 'basic'];
const SECRET_BYTES = 32;

/** `mayfly hook create`: with a new secret, shown once, unless one is given. */
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
    const given = await givenSecret(io.env, args['secret-file']);
    const secret = given ?? made(scheme);
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

/** @throws CliError when only the sender has it */
function made(scheme: Scheme): string {
  if (scheme === 'standard-webhooks') return newSecret();
  if (scheme !== 'stripe' && scheme !== 'basic') return randomBytes(SECRET_BYTES).toString('base64url');
  const what = scheme === 'stripe' ? 'the whsec_… that Stripe shows for the endpoint' : 'user:password';
  throw usageError('the secret is missing', `Give ${what} by --secret-file, or set MAYFLY_HOOK_SECRET.`);
}

/** @throws CliError when they are of another scheme, or the header is missing */
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
