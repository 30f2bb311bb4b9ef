import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Approval } from '../../clients/typescript/http/openapi.ts';
import { MayflyConnectionError } from '../../clients/typescript/http/problem.ts';
import type { ClientOptions } from '../../clients/typescript/http/transport.ts';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { Io } from './io.ts';

/** Default of MAYFLY_STATE_DIR. */
export const DEFAULT_STATE_DIR = '/var/lib/mayfly';
const connectionFile = z.object({ apiUrl: z.string(), apiKey: z.string() });
export type Connection = z.infer<typeof connectionFile>;

/** Returns the file in which `mayfly up` saves address and admin key for commands of the same user, mode 0600. */
export function connectionFileOf(stateDir: string): string {
  return join(stateDir, 'cli.json');
}

/**
 * Finds address and key of the API: MAYFLY_URL and MAYFLY_API_KEY, else those that `mayfly up` saved. The saved key is
 * only ever sent to the saved address.
 * @throws CliError when there is no key, it is malformed, or its file is readable by others
 */
export function findConnection(env: NodeJS.ProcessEnv): Connection {
  const url = env['MAYFLY_URL'];
  const key = env['MAYFLY_API_KEY'];
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw new CliError(
      EXIT.refused,
      'MAYFLY_API_KEY is no API key',
      'it has spaces, line ends or other characters that no key has',
      'Set it to what `mayfly key create` writes to stdout, and no more.',
    );
  }
  if (url && key) return { apiUrl: url, apiKey: key };
  const path = connectionFileOf(env['MAYFLY_STATE_DIR'] ?? DEFAULT_STATE_DIR);
  const stored = readConnectionFile(path);
  if (stored && key) return { apiUrl: stored.apiUrl, apiKey: key };
  if (stored && (!url || new URL(url).origin === new URL(stored.apiUrl).origin)) return stored;
  const remedy = 'Start an installation with `mayfly up`, or set MAYFLY_URL and MAYFLY_API_KEY.';
  if (url)
    throw new CliError(EXIT.refused, 'There is no API key to use', 'MAYFLY_URL is set, MAYFLY_API_KEY is not', remedy);
  const why = `MAYFLY_URL and MAYFLY_API_KEY are not set, and ${path} does not exist`;
  throw new CliError(EXIT.unavailable, 'No installation runs here', why, remedy);
}

function readConnectionFile(path: string): Connection | null {
  let text: string;
  try {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new CliError(EXIT.refused, `${path} is open to other users`, 'it holds an API key', `chmod 600 ${path}`);
    }
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return null;
    if (code !== 'EACCES') throw error;
    throw new CliError(EXIT.refused, `${path} cannot be read`, 'it belongs to another user', 'Set MAYFLY_API_KEY.');
  }
  const parsed = connectionFile.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new CliError(
    EXIT.failed,
    `${path} is damaged`,
    'apiUrl or apiKey is missing',
    'Start `mayfly up` again; it writes the file anew.',
  );
}

/**
 * Connects a client that waits for approvals, and prints that it waits.
 * @throws CliError as {@link findConnection}, and when MAYFLY_URL is not a URL
 */
export function connect(io: Io): MayflyClient {
  return new MayflyClient({ ...getClientOptions(io), onApproval: (approval) => printApproval(io, approval) });
}

/** Like {@link connect}, but requests that need approval fail at once. */
export function connectWithoutApproval(io: Io): MayflyClient {
  return new MayflyClient(getClientOptions(io));
}

function getClientOptions(io: Io): ClientOptions {
  const { apiUrl, apiKey } = findConnection(io.env);
  if (!URL.canParse(apiUrl)) {
    throw new CliError(
      EXIT.usage,
      `${apiUrl} is not a URL`,
      'MAYFLY_URL must be absolute',
      'Set it like http://127.0.0.1:7999.',
    );
  }
  return { baseUrl: apiUrl, apiKey: io.env['MAYFLY_API_KEY'] ? apiKey : () => currentKey(io.env, apiUrl) };
}

/**
 * Returns the key of the running installation: each `mayfly up` makes another. @throws MayflyConnectionError while none
 * runs
 */
function currentKey(env: NodeJS.ProcessEnv, apiUrl: string): string {
  const path = connectionFileOf(env['MAYFLY_STATE_DIR'] ?? DEFAULT_STATE_DIR);
  const stored = readConnectionFile(path);
  if (stored && new URL(stored.apiUrl).origin === new URL(apiUrl).origin) return stored.apiKey;
  throw new MayflyConnectionError(apiUrl, new Error('`mayfly up` was stopped, or listens elsewhere now'));
}

/** Characters of the digest to type: 48 bits. */
export const SHORT_DIGEST = 12;

export function decideLine(verb: 'approve' | 'refuse', { id, digest }: Approval): string {
  return `mayfly approval ${verb} ${id} --digest ${digest.slice(0, SHORT_DIGEST)}`;
}

/** Prints that a command waits for approval, and how to decide it. */
function printApproval(io: Io, approval: Approval): void {
  io.note(`Waiting for approval ${approval.id} (${approval.rules.join(', ')}), until ${approval.expiresAt}.`);
  io.note(`  Somebody with ${approval.role} decides: ${decideLine('approve', approval)}`);
}
