import type { ArgsDef } from 'citty';
import type { ApiKey, NewApiKey } from '../../clients/typescript/http/openapi.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import { SCOPES, type Scope } from '../../model/scopes.ts';
import { formatSize, GIB, type StorageQuota } from '../../model/snapshots/storage.ts';
import { readConfig } from '../../worker/config/config.ts';
import { flag, limit, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';

const QUOTA = {
  'disk-gib': option('How much all its sandboxes and snapshots may take of disks; `none`: no limit', 'GiB'),
  'sandbox-disk-gib': option('How much each of its sandboxes may take, with its snapshots; `none`: no limit', 'GiB'),
} as const satisfies ArgsDef;
/** Default scopes: writing does not include reading (model/scopes.ts), and waiting for a sandbox reads. */
const DEFAULT_SCOPES: Scope[] = ['sandboxes:read', 'sandboxes:write'];

const createKey = command({
  description: 'Make an API key; it is shown this once',
  args: {
    name: positional('What the key is for'),
    scope: option('May be given more than once (default: read and write sandboxes)'),
    project: option('Whose key it is; only operators name another than their own'),
    ...QUOTA,
    local: flag('Write to the store of this installation itself: for the first key, when there is none to ask with'),
  },
  repeatable: ['scope'],
  async call({ io, args, repeated, connect, options }) {
    const given = repeated('scope');
    const scopes = given.length > 0 ? given.map(scopeFrom) : DEFAULT_SCOPES;
    const { project } = args;
    const wish = { name: args.name, scopes, ...(project !== undefined && { project }), ...quotaFrom(args) };
    return args.local ? createLocally(io, wish) : connect().createKey(wish, options);
  },
  print(io, key) {
    io.print(printable(key.secret));
    io.note(
      `key ${printable(key.id)} of ${printable(key.project)} with ${key.scopes.join(', ')}; it is stored hashed and not shown again`,
    );
  },
});

/**
 * Creates a key directly in the store, whose users can write keys anyway. The first key's owner has the installation:
 * `admin` includes `operator`, unless the key belongs to a project.
 * @throws MayflyError project_not_found
 */
async function createLocally(
  io: Io,
  wish: { name: string; scopes: Scope[]; project?: string } & Partial<StorageQuota>,
): Promise<NewApiKey> {
  const { withStore } = await import('../../worker/servers/local-store.ts');
  return withStore(readConfig(io.env), {}, async (store) => {
    const { project = DEFAULT_PROJECT, scopes } = wish;
    if (!(await store.projects.get(project))) {
      throw new MayflyError('project_not_found', `There is no project ${JSON.stringify(project)}.`);
    }
    const isFirst = wish.project === undefined && scopes.includes('admin') && !scopes.includes('operator');
    const given = isFirst ? [...scopes, 'operator' as const] : scopes;
    const { key, secret } = await store.apiKeys.create({ ...wish, project, scopes: given });
    return { ...key, secret };
  });
}

function scopeFrom(text: string): Scope {
  const scope = SCOPES.find((known) => known === text);
  if (scope) return scope;
  throw usageError(`there is no scope ${JSON.stringify(text)}`, `Use ${SCOPES.join(', ')}.`);
}

/** Parses quotas; omitted options stay absent. @throws CliError */
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
  return bytes === null ? '-' : formatSize(bytes);
}

const limitKey = command({
  description: 'Change how much the sandboxes and snapshots of a key may store',
  args: {
    id: positional('Key id (`mayfly key list`), not the key'),
    ...QUOTA,
  },
  async call({ args, connect, options }) {
    const quota = quotaFrom(args);
    if (Object.keys(quota).length === 0) throw usageError('give --disk-gib or --sandbox-disk-gib');
    return connect().limitKey(args.id, quota, options);
  },
  print: (_io, key) =>
    `${printable(key.id)} may store ${limitText(key.diskBytes)} in all, ${limitText(key.sandboxDiskBytes)} for each sandbox (-: no limit)`,
});

const HEADER = ['ID', 'PROJECT', 'NAME', 'SCOPES', 'DISK', 'DISK EACH', 'CREATED', 'REVOKED'];

function row({ id, project, name, scopes, diskBytes, sandboxDiskBytes, createdAt, revokedAt }: ApiKey): string[] {
  const limits = [limitText(diskBytes), limitText(sandboxDiskBytes)];
  return [id, project, name, scopes.join(','), ...limits, createdAt, revokedAt ?? '-'];
}

const listKeys = pagedCommand({
  description: 'List API keys, without the keys themselves',
  table: { header: HEADER, row },
  read: ({ connect, options }) => connect().listKeys(options),
});

const revokeKey = command({
  description: 'Refuse a key from the next request on',
  args: { id: positional('Key id (`mayfly key list`), not the key') },
  async call({ args, connect, options }) {
    await connect().revokeKey(args.id, options);
    return { id: args.id, revoked: true };
  },
  print: (_io, _result, args) => `${printable(args.id)} is revoked`,
});

export const keyCommand = nounCommand({ create: createKey, list: listKeys, limit: limitKey, revoke: revokeKey });
