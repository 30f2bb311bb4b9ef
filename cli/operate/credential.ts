import { readFile } from 'node:fs/promises';
import { type ArgsDef, defineCommand } from 'citty';
import type { Credential } from '../../client/credentials.ts';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, idOrName, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError, usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList, type Table } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';
import { seconds } from '../terminal/quantities.ts';

const ID = { type: 'positional', description: 'Id or name of a sandbox', required: true } as const;
const ISSUE = {
  id: ID,
  key: { type: 'positional', description: 'File with your public key, such as ~/.ssh/id_ed25519.pub', required: true },
  ttl: { type: 'string', valueHint: 'duration', description: 'How long it opens the sandbox (default: 30m)' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const LIST = { id: ID, ...LIST_OPTION } as const satisfies ArgsDef;
const REVOKE = {
  id: ID,
  credential: { type: 'positional', description: 'Serial or key id', required: false },
  all: { type: 'boolean', description: 'All that callers have', default: false },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;
/** A public key line is shorter; a private key pointed at by mistake need not be read at all. Bytes. */
const MAX_KEY_BYTES = 16_384;

/** `mayfly credential issue|list|revoke` */
export function credentialCommand(io: Io) {
  return defineCommand({
    subCommands: { issue: issue(io), list: list(io), revoke: revoke(io) },
  });
}

function issue(io: Io) {
  return defineCommand({
    meta: { name: 'issue', description: 'Sign your public key for one sandbox; prints the certificate' },
    args: ISSUE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ISSUE);
      const id = idOrName(args.id);
      const { min, max } = LIMITS.certificateSeconds;
      const request = {
        publicKey: await publicKeyIn(args.key),
        ...(args.ttl && { ttlSeconds: seconds('ttl', args.ttl, { min, max }) }),
      };
      const issued = await connect(io).credentials.issue(id, request, { signal: io.signal });
      if (args.json) {
        io.printJson(issued);
      } else {
        io.print(printable(issued.certificate));
        io.note(`serial ${printable(issued.serial)}, until ${printable(issued.validBefore)}`);
        io.note(`put it beside your key as <key>-cert.pub; known_hosts: ${printable(issued.knownHosts)}`);
        io.note(`ssh -p ${issued.port} ${printable(`${issued.user}@${issued.address}`)}`);
      }
      return EXIT.ok;
    },
  });
}

function list(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the certificates of a sandbox, newest first' },
    args: LIST,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST);
      const named = idOrName(args.id);
      const client = connect(io);
      const id = await client.sandboxIdOf(named, { signal: io.signal });
      await printList(io, args, TABLE, (page) => client.credentials.list(id, page));
      return EXIT.ok;
    },
  });
}

function revoke(io: Io) {
  return defineCommand({
    meta: { name: 'revoke', description: 'Refuse a certificate from now on, and end the sessions it has opened' },
    args: REVOKE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, REVOKE);
      const id = idOrName(args.id);
      if (args.all === Boolean(args.credential)) throw usageError('give a serial, a key id or --all');
      const { credentials } = connect(io);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const items = args.credential
        ? [await credentials.revoke(id, args.credential, options)]
        : (await credentials.revokeAll(id, options)).items;
      const page = { items, nextCursor: null };
      if (args.json) io.printJson(page);
      else await printList(io, args, TABLE, async () => page);
      const open = items.filter(({ refusedAt }) => refusedAt === null);
      if (open.length > 0)
        io.note(`${open.length} not seen to be refused yet: the guest is told as soon as it answers`);
      return open.length > 0 ? EXIT.waitedTooLong : EXIT.ok;
    },
  });
}

const TABLE: Table<Credential> = {
  header: ['SERIAL', 'FOR', 'KEY', 'UNTIL', 'REVOKED', 'REFUSED', 'KEY ID'],
  row: ({ serial, purpose, fingerprint, validBefore, revokedAt, refusedAt, keyId }) => {
    return [serial, purpose, fingerprint, validBefore, revokedAt ?? '-', refusedAt ?? '-', keyId];
  },
};

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
