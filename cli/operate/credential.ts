import { readFile } from 'node:fs/promises';
import type { Credential } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { flag, idOrName, option, positional, seconds } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { columns, printable } from '../terminal/io.ts';
import type { Table } from '../terminal/list.ts';

const ID = { type: 'positional', description: 'Id or name of a sandbox', required: true } as const;
/** Maximum bytes of a public key line; a private key given by mistake is not read completely. */
const MAX_KEY_BYTES = 16_384;

const TABLE: Table<Credential> = {
  header: ['SERIAL', 'FOR', 'KEY', 'UNTIL', 'REVOKED', 'REFUSED', 'KEY ID'],
  row: ({ serial, purpose, fingerprint, validBefore, revokedAt, refusedAt, keyId }) => {
    return [serial, purpose, fingerprint, validBefore, revokedAt ?? '-', refusedAt ?? '-', keyId];
  },
};

const issue = command({
  description: 'Sign your public key for one sandbox; prints the certificate',
  args: {
    id: ID,
    key: positional('File with your public key, such as ~/.ssh/id_ed25519.pub'),
    ttl: option('How long it opens the sandbox (default: 30m)', 'duration'),
  },
  async call({ args, connect, options }) {
    const id = idOrName(args.id);
    const { min, max } = LIMITS.certificateSeconds;
    const request = {
      publicKey: await publicKeyIn(args.key),
      ...(args.ttl && { ttlSeconds: seconds('ttl', args.ttl, { min, max }) }),
    };
    return connect().credentials.issue(id, request, options);
  },
  print(io, issued) {
    io.print(printable(issued.certificate));
    io.note(`serial ${printable(issued.serial)}, until ${printable(issued.validBefore)}`);
    io.note(`put it beside your key as <key>-cert.pub; known_hosts: ${printable(issued.knownHosts)}`);
    io.note(`ssh -p ${issued.port} ${printable(`${issued.user}@${issued.address}`)}`);
  },
});

const list = pagedCommand({
  description: 'List the certificates of a sandbox, newest first',
  args: { id: ID },
  table: TABLE,
  async read({ io, args, connect }) {
    const named = idOrName(args.id);
    const client = connect();
    const id = await client.sandboxIdOf(named, { signal: io.signal });
    return () => client.credentials.list(id, { signal: io.signal });
  },
});

const revoke = command({
  description: 'Refuse a certificate from now on, and end the sessions it has opened',
  args: {
    id: ID,
    credential: { type: 'positional', description: 'Serial or key id', required: false },
    all: flag('All that callers have'),
  },
  async call({ args, connect, options }) {
    const id = idOrName(args.id);
    if (args.all === Boolean(args.credential)) throw usageError('give a serial, a key id or --all');
    const { credentials } = connect();
    const items = args.credential
      ? [await credentials.revoke(id, args.credential, options)]
      : (await credentials.revokeAll(id, options)).items;
    return { items, nextCursor: null };
  },
  print: (_io, { items }) => columns(TABLE.header, items.map(TABLE.row)),
  isDone: ({ items }) => openIn(items).length === 0,
  exit({ items }, io) {
    const open = openIn(items).length;
    if (open > 0) io.note(`${open} not seen to be refused yet: the guest is told as soon as it answers`);
    return EXIT.ok;
  },
});

function openIn(items: Credential[]): Credential[] {
  return items.filter(({ refusedAt }) => refusedAt === null);
}

async function publicKeyIn(path: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError(EXIT.usage, `${path} cannot be read`, why, 'Name the file of your public key.', { cause });
  }
  if (text.includes('PRIVATE KEY') || text.length > MAX_KEY_BYTES) {
    const why = 'only a public key is sent; a private one stays where it is';
    throw new CliError(EXIT.usage, `${path} is not a public key`, why, `Try ${path}.pub.`);
  }
  return text.trim();
}

export const credentialCommand = nounCommand({ issue: issue, list: list, revoke: revoke });
