import { type ArgsDef, defineCommand } from 'citty';
import type { NewApiKey } from '../client/mayfly-client.ts';
import { SCOPES, type Scope } from '../model/scopes.ts';
import { readConfig } from '../worker/config.ts';
import { checkArguments, JSON_OPTION } from './arguments.ts';
import { usageError } from './cli-error.ts';
import { columns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { printable } from './printable.ts';

const CREATE = {
  name: { type: 'positional', description: 'What the key is for', required: true },
  scope: { type: 'string', description: 'May be given more than once (default: read and write sandboxes)' },
  local: {
    type: 'boolean',
    description: 'Write to the store of this installation itself: for the first key, when there is none to ask with',
    default: false,
  },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
/** Writing does not include reading (model/scopes.ts), and waiting for a sandbox reads. */
const DEFAULT_SCOPES: Scope[] = ['sandboxes:read', 'sandboxes:write'];
const REVOKE = {
  id: { type: 'positional', description: 'Key id (`mayfly key list`), not the key', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly key create|list|revoke` */
export function keyCommand(io: Io) {
  return defineCommand({
    meta: { name: 'key', description: 'API keys' },
    subCommands: { create: createKey(io), list: listKeys(io), revoke: revokeKey(io) },
  });
}

function createKey(io: Io) {
  return defineCommand({
    meta: { name: 'create', description: 'Make an API key; it is shown this once' },
    args: CREATE,
    async run({ args, rawArgs }) {
      const given = checkArguments(rawArgs, CREATE, ['scope']).get('scope') ?? [];
      const scopes = given.length > 0 ? given.map(scopeFrom) : DEFAULT_SCOPES;
      const wish = { name: args.name, scopes };
      const key = await (args.local ? createLocally(io, wish) : connect(io).createKey(wish, { signal: io.signal }));
      if (args.json) {
        io.printJson(key);
      } else {
        io.print(printable(key.secret));
        io.note(`key ${printable(key.id)} with ${scopes.join(', ')}; it is stored hashed and not shown again`);
      }
      return EXIT.ok;
    },
  });
}

/** Who can open the store could write a key into it anyway. */
async function createLocally(io: Io, wish: { name: string; scopes: Scope[] }): Promise<NewApiKey> {
  const { withStore } = await import('../worker/local-store.ts');
  return withStore(readConfig(io.env), {}, async (store) => {
    const { key, secret } = await store.apiKeys.create(wish);
    return { ...key, secret };
  });
}

function scopeFrom(text: string): Scope {
  const scope = SCOPES.find((known) => known === text);
  if (scope) return scope;
  throw usageError(`there is no scope ${JSON.stringify(text)}`, `Use ${SCOPES.join(', ')}.`);
}

function listKeys(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List API keys, without the keys themselves' },
    args: JSON_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, JSON_OPTION);
      const page = await connect(io).listKeys({ signal: io.signal });
      const rows = page.items.map((key) => [
        key.id,
        key.name,
        key.scopes.join(','),
        key.createdAt,
        key.revokedAt ?? '-',
      ]);
      if (args.json) io.printJson(page);
      else for (const line of columns(['ID', 'NAME', 'SCOPES', 'CREATED', 'REVOKED'], rows)) io.print(line);
      return EXIT.ok;
    },
  });
}

function revokeKey(io: Io) {
  return defineCommand({
    meta: { name: 'revoke', description: 'Refuse a key from the next request on' },
    args: REVOKE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, REVOKE);
      await connect(io).revokeKey(args.id, { signal: io.signal });
      if (args.json) io.printJson({ id: args.id, revoked: true });
      else io.print(`${printable(args.id)} is revoked`);
      return EXIT.ok;
    },
  });
}
