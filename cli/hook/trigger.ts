import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Hook } from '../../clients/typescript/http/openapi.ts';
import { MayflyApiError, MayflyConnectionError, problemFrom } from '../../clients/typescript/http/problem.ts';
import type { SignatureScheme } from '../../model/webhooks/signature-scheme.ts';
import { signDelivery } from '../../services/webhooks/signing/sign.ts';
import { option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';
import { hookId, requiredSecret, SECRET_FILE } from './create.ts';

/** Response of a hook's endpoint. */
interface HookResponse {
  runId?: string;
  duplicate?: true;
  filtered?: true;
  ping?: true;
}

/** `mayfly trigger github push --hook … --file …`: signs a sample like its sender, and sends it. */
export const triggerCommand = command({
  args: {
    scheme: positional('github, or another scheme that the hook has'),
    event: { type: 'positional', description: 'Of github: the event, such as push', required: false },
    hook: { type: 'string', valueHint: 'id', description: 'Where it is sent (`mayfly hook list`)', required: true },
    file: { type: 'string', valueHint: 'path', description: 'A file with the body', required: true },
    type: { type: 'string', valueHint: 'type/subtype', description: 'Media type of it', default: 'application/json' },
    delivery: option('Its id: the same is the same run. Else a new one', 'id'),
    ...SECRET_FILE,
  },
  async call({ io, args, connect, options }) {
    const hook = await connect().hooks.get(hookId(args.hook), options);
    const scheme = schemeOf(hook, args.scheme);
    const secret = await requiredSecret(io.env, args['secret-file']);
    const body = await readFile(args.file).catch(() => {
      throw usageError(`${JSON.stringify(args.file)} cannot be read`, 'Name a file with the body of the event.');
    });
    const id = args.delivery ?? randomUUID();
    const headers = signHeaders(scheme, secret, { id, body, now: Date.now() });
    headers.set('content-type', args.type);
    if (scheme.scheme === 'github') headers.set('x-github-event', githubName(args.event));
    else if (args.event !== undefined) throw usageError(`an event of ${scheme.scheme} has no name`);
    const url = new URL(hook.url ?? hook.path, findConnection(io.env).apiUrl);
    return sendDelivery(url, { method: 'POST', headers, body, signal: io.signal });
  },
  print: (_io, taken) => textOf(taken),
});

/** @throws CliError when the hook has another scheme */
function schemeOf({ id, scheme, hmac }: Hook, asked: string): SignatureScheme {
  if (asked !== scheme)
    throw usageError(`${id} has the scheme ${scheme}, not ${asked}`, `Say \`mayfly trigger ${scheme}\`.`);
  return (hmac === null ? { scheme } : { scheme: 'hmac', ...hmac }) as SignatureScheme;
}

/** @throws CliError */
function githubName(event: string | undefined): string {
  if (event !== undefined && /^[a-z0-9_]+$/.test(event)) return event;
  throw usageError('the name of the event is missing', 'Say `mayfly trigger github push`.');
}

/** @throws CliError when the secret does not fit the scheme */
function signHeaders(scheme: SignatureScheme, secret: string, delivery: Parameters<typeof signDelivery>[2]): Headers {
  try {
    return new Headers(signDelivery(scheme, [secret], delivery) as [string, string][]);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw usageError(error.message);
    throw error;
  }
}

/** Sends without an API key: the signature authenticates. @throws MayflyApiError, MayflyConnectionError */
async function sendDelivery(url: URL, request: RequestInit): Promise<HookResponse> {
  const answer = await fetch(url, request).catch((error: unknown) => {
    if (request.signal?.aborted) throw error;
    throw new MayflyConnectionError(url.origin, error);
  });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text) as HookResponse;
  throw new MayflyApiError(problemFrom(answer.status, text), Number(answer.headers.get('retry-after')) || null);
}

function textOf({ runId, duplicate, filtered, ping }: HookResponse): string {
  if (filtered) return 'The filter of the hook leaves it out: it is not run.';
  if (ping) return 'The hook is there: a ping is not run.';
  return duplicate ? `${runId} (it came before)` : `${runId}`;
}
