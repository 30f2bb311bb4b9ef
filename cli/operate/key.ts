import { type ArgsDef, defineCommand } from 'citty';
import type { ApiKey, NewApiKey } from '../../client/mayfly-client.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { SCOPES, type Scope } from '../../model/scopes.ts';
import { GIB, type StorageQuota, sizeText } from '../../model/snapshots/storage.ts';
import { readConfig } from '../../worker/config/config.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';
import { limit } from '../terminal/quantities.ts';

const QUOTA = {
  'disk-gib': {
    type: 'string',
    valueHint: 'GiB',
    description: 'How much all its sandboxes and snapshots may take of disks; `none`: no limit',
  },
  'sandbox-disk-gib': {
    type: 'string',
    valueHint: 'GiB',
    description: 'How much each of its sandboxes may take, with its snapshots; `none`: no limit',
  },
} as const satisfies ArgsDef;
const LIMIT = {
  id: { type: 'positional', description: 'Key id (`mayfly key list`), not the key', required: true },
  ...QUOTA,
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const CREATE = {
  name: { type: 'positional', description: 'What the key is for', required: true },
  scope: { type: 'string', description: 'May be given more than once (default: read and write sandboxes)' },
  project: { type: 'string', description: 'Whose key it is; only operators name another than their own' },
  ...QUOTA,
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

/** `mayfly key create|list|limit|revoke` */
export function keyCommand(io: Io) {
  return defineCommand({
    subCommands: { create: createKey(io), list: listKeys(io), limit: limitKey(io), revoke: revokeKey(io) },
  });
}

function createKey(io: Io) {
  return defineCommand({
    meta: { name: 'create', description: 'Make an API key; it is shown this once' },
    args: CREATE,
    async run({ args, rawArgs }) {
      const given = checkArguments(rawArgs, CREATE, ['scope']).get('scope') ?? [];
      const scopes = given.length > 0 ? given.map(scopeFrom) : DEFAULT_SCOPES;
      const { project } = args;
      const wish = { name: args.name, scopes, ...(project !== undefined && { project }), ...quotaFrom(args) };
      const key = await (args.local ? createLocally(io, wish) : connect(io).createKey(wish, { signal: io.signal }));
      if (args.json) {
        io.printJson(key);
      } else {
        io.print(printable(key.secret));
        io.note(
          `key ${printable(key.id)} of ${printable(key.project)} with ${key.scopes.join(', ')}; it is stored hashed and not shown again`,
        );
      }
      return EXIT.ok;
    },
  });
}

/**
 * Who can open the store could write a key into it anyway. Whoever makes the first key has the installation: `admin` is an
 * operator here, unless it is to be of one project.
 * @throws MayflyError project_not_found
 */
async function createLocally(
  io: Io,
  wish: { name: string; scopes: Scope[]; project?: string } & Partial<StorageQuota>,
): Promise<NewApiKey> {
  const { withStore } = await import('../../worker/servers/local-store.ts');
  return withStore(readConfig(io.env), {}, async (store) => {
    const { project, scopes } = wish;
    if (project !== undefined && !(await store.projects.get(project))) {
      throw new MayflyError('project_not_found', `There is no project ${JSON.stringify(project)}.`);
    }
    const isFirst = project === undefined && scopes.includes('admin') && !scopes.includes('operator');
    const { key, secret } = await store.apiKeys.create(isFirst ? { ...wish, scopes: [...scopes, 'operator'] } : wish);
    return { ...key, secret };
  });
}

function scopeFrom(text: string): Scope {
  const scope = SCOPES.find((known) => known === text);
  if (scope) return scope;
  throw usageError(`there is no scope ${JSON.stringify(text)}`, `Use ${SCOPES.join(', ')}.`);
}

/** What is not given is not in it. @throws CliError */
function quotaFrom({
  'disk-gib': disk,
  'sandbox-disk-gib': sandboxDisk,
}: {
  'disk-gib'?: string | undefined;
  'sandbox-disk-gib'?: string | undefined;
}): Partial<StorageQuota> {
  return {
    ...(disk !== undefined && { diskBytes: bytesFrom('disk-gib', disk) }),
    ...(sandboxDisk !== undefined && { sandboxDiskBytes: bytesFrom('sandbox-disk-gib', sandboxDisk) }),
  };
}

function bytesFrom(name: string, text: string): number | null {
  return limit(name, text, GIB, LIMITS.quotaBytes, ' of GiB');
}

function limitText(bytes: number | null): string {
  return bytes === null ? '-' : sizeText(bytes);
}

function limitKey(io: Io) {
  return defineCommand({
    meta: { name: 'limit', description: 'Change how much the sandboxes and snapshots of a key may store' },
    args: LIMIT,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIMIT);
      const quota = quotaFrom(args);
      if (Object.keys(quota).length === 0) throw usageError('give --disk-gib or --sandbox-disk-gib');
      const key = await connect(io).limitKey(args.id, quota, { signal: io.signal });
      const [all, each] = [limitText(key.diskBytes), limitText(key.sandboxDiskBytes)];
      if (args.json) io.printJson(key);
      else io.print(`${printable(key.id)} may store ${all} in all, ${each} for each sandbox (-: no limit)`);
      return EXIT.ok;
    },
  });
}

const HEADER = ['ID', 'PROJECT', 'NAME', 'SCOPES', 'DISK', 'DISK EACH', 'CREATED', 'REVOKED'];

function row({ id, project, name, scopes, diskBytes, sandboxDiskBytes, createdAt, revokedAt }: ApiKey): string[] {
  const limits = [limitText(diskBytes), limitText(sandboxDiskBytes)];
  return [id, project, name, scopes.join(','), ...limits, createdAt, revokedAt ?? '-'];
}

function listKeys(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List API keys, without the keys themselves' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const client = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => client.listKeys(page));
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
