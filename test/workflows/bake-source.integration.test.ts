import { randomBytes } from 'node:crypto';
import { lstat, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { BakedSource, BakeSourceInput } from '../../model/baked-source.ts';
import { bakeWorkflowIdOf } from '../../model/baked-source.ts';
import { ID_BYTES, operationIdFrom, sandboxIdFrom, sourceIdOf } from '../../model/ids.ts';
import type { SnapshotRecord } from '../../model/snapshot.ts';
import { useMayfly } from '../support/mayfly.ts';
import { useOperations } from '../support/operations.ts';
import { TEST_TIMEOUTS } from '../support/test-timeouts.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);
const actor = { apiKeyId: 'test', agentId: null };
const STEPS = ['claimSourceName', 'cleanGuest', 'shutDownGuest', 'flattenDisks', 'publishSource'] as const;

let snapshot: SnapshotRecord;
const images = () => join(mayfly().config.stateDir, 'images');
const tree = (name: string) => join(images(), name, 'root');

/** One sandbox and one snapshot a test: what else is there, a bake has left. */
beforeEach(async () => {
  const { id } = await mayfly().create();
  await operations().sh(
    id,
    'echo kept > ~/note; echo secret > ~/.bash_history; echo x > /tmp/x; mkdir ~/.python_history',
  );
  snapshot = await operations().snapshot(id);
});

/** Nothing half made: only whole sources, and none when they have been deleted. */
afterEach(async () => {
  vi.restoreAllMocks();
  mayfly().failpoints.arm(undefined);
  const found = (await readdir(images())).filter((name) => name !== 'golden-debian12');
  for (const name of found) {
    expect(await recordOf(name)).toMatchObject({ state: 'ready' });
    expect(await remove(name)).toMatchObject({ state: 'deleted', image: null, failure: null });
  }
  expect(await readdir(images())).toEqual(['golden-debian12']);
});

function input(name = `baked-${randomBytes(4).toString('hex')}`): BakeSourceInput {
  const { id, sandboxId, source } = snapshot;
  return {
    bakeId: operationIdFrom(randomBytes(ID_BYTES)),
    sourceId: sourceIdOf('test', name),
    hostId: 'test',
    name,
    snapshot: { id, sandboxId, source },
    builderId: sandboxIdFrom(randomBytes(ID_BYTES)),
    actor,
    requestedAt: new Date().toISOString(),
    timeouts: TEST_TIMEOUTS,
  };
}

async function recordOf(name: string): Promise<BakedSource> {
  const record = await mayfly().store.bakedSources.get(sourceIdOf('test', name));
  if (!record) throw new Error(`nothing is known of ${name}`);
  return record;
}

async function ended({ hostId, name }: Pick<BakeSourceInput, 'hostId' | 'name'>): Promise<BakedSource> {
  await mayfly().sagas.bakeEnded({ hostId, name }, AbortSignal.timeout(60_000));
  return recordOf(name);
}

async function bake(asked: BakeSourceInput): Promise<BakedSource> {
  await mayfly().sagas.bakeSource(asked);
  return ended(asked);
}

async function remove(name: string): Promise<BakedSource> {
  await mayfly().sagas.deleteSource({ sourceId: sourceIdOf('test', name), hostId: 'test', name, actor });
  return ended({ hostId: 'test', name });
}

const listed = async () => (await mayfly().store.hosts.list())[0]?.sources.map(({ name }) => name) ?? [];

async function audit(name: string): Promise<string[]> {
  const entries = await mayfly().store.audit.entries(sourceIdOf('test', name), { limit: 100 });
  return entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
}

test('a source is made of a snapshot, without what made it one machine, and outlives both', async () => {
  const asked = input();
  const { name } = asked;
  const baked = await bake(asked);
  expect(baked).toMatchObject({
    state: 'ready',
    snapshotId: snapshot.id,
    sandboxId: snapshot.sandboxId,
    createdBy: actor,
    image: { disks: [{ target: 'root', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] },
    failure: null,
    waitingFor: null,
  });
  await mayfly().keepHistory('baked', '', bakeWorkflowIdOf('test', name));
  expect(await listed()).toContain(name);
  expect(await mayfly().record(asked.builderId)).toMatchObject({ state: 'destroyed', failure: null });
  for (const gone of ['etc/machine-id', 'etc/hostname', 'etc/ssh/ssh_host_ed25519_key', 'etc/ssh/mayfly_principals']) {
    await expect(lstat(join(tree(name), gone))).rejects.toMatchObject({ code: 'ENOENT' });
  }
  expect(await readdir(join(tree(name), 'tmp'))).toEqual([]);
  expect(await readdir(join(tree(name), 'home/sandbox'))).not.toContain('.bash_history');
  expect(await bake(asked)).toMatchObject({ state: 'ready', bakeId: asked.bakeId });

  await operations().delete(snapshot);
  await mayfly().destroy({ ...mayfly().input(), id: snapshot.sandboxId });
  const clone = await mayfly().create(mayfly().input({ source: name }));
  expect(clone).toMatchObject({ state: 'running', failure: null });
  expect(await operations().read(clone.id)).toBe('kept\n');
  const identity = await operations().sh(clone.id, 'cat /etc/hostname /etc/machine-id; ls -A ~ /tmp');
  expect(identity).toContain(clone.id);
  expect(identity).not.toContain(snapshot.sandboxId);
  await mayfly().destroy({ ...mayfly().input(), id: clone.id });
  expect(await remove(name)).toMatchObject({ state: 'deleted' });
  await mayfly().keepHistory('source-deleted', '', bakeWorkflowIdOf('test', name));
  expect(await listed()).not.toContain(name);
  expect(await audit(name)).toEqual(['source.baking', 'source.baked', 'source.deleting', 'source.deleted']);
  expect(await mayfly().store.audit.verify(sourceIdOf('test', name))).toMatchObject({ ok: true });
});

test('no link of the guest leads the cleaning to another file', async () => {
  const outside = join(mayfly().config.stateDir, 'outside');
  await writeFile(outside, 'stays');
  const { id } = await mayfly().create();
  const climb = '../'.repeat(12).slice(0, -1);
  await operations().sh(
    id,
    `ln -s ${climb}${outside} ~/.bash_history; ln -s ${climb}${mayfly().config.stateDir} ~/.viminfo; ln -s ${climb}${mayfly().config.stateDir} /tmp/d`,
  );
  snapshot = await operations().snapshot(id);
  const asked = input();
  expect(await bake(asked)).toMatchObject({ state: 'ready' });
  expect(await readFile(outside, 'utf8')).toBe('stays');
  expect(await readdir(join(tree(asked.name), 'home/sandbox'))).not.toContain('.viminfo');
  expect(await readdir(join(tree(asked.name), 'tmp'))).toEqual([]);
});

test.each(STEPS)(
  'when %s fails before or after its effect, nothing of it is left, and the name is free',
  async (step) => {
    const { name } = input();
    for (const where of ['before', 'after']) {
      mayfly().failpoints.arm(`${step}.${where}=error`);
      const asked = input(name);
      const failure = { step, code: 'fault_injected' };
      expect(await bake(asked)).toMatchObject({ state: 'failed', bakeId: asked.bakeId, image: null, failure });
      expect(await readdir(images())).toEqual(['golden-debian12']);
      const builder = await mayfly().store.sandboxes.get(asked.builderId);
      expect(builder?.state ?? null).toBe(step === 'claimSourceName' ? null : 'destroyed');
    }
    const once = ['source.baking', 'source.bake-failed'];
    expect(await audit(name)).toEqual([...once, ...once]);
    if (step !== 'publishSource') return;
    await mayfly().keepHistory('bake-failed', '', bakeWorkflowIdOf('test', name));
    mayfly().failpoints.arm(undefined);
    expect(await bake(input(name))).toMatchObject({ state: 'ready', failure: null });
  },
);

test('when flattenDisks or publishSource fails in its middle, nothing of it is left', async () => {
  for (const step of ['flattenDisks', 'publishSource']) {
    mayfly().failpoints.arm(`${step}.during=error`);
    expect(await bake(input())).toMatchObject({ state: 'failed', failure: { step } });
    expect(await readdir(images())).toEqual(['golden-debian12']);
  }
});

test('what has no room is not copied, and is counted once', async () => {
  const hypervisor = mayfly().host?.machine.hypervisor;
  if (!hypervisor) throw new Error('there is no host');
  const sizeOf = vi.spyOn(hypervisor.baking, 'sizeOf');
  const asked = input();
  expect(await bake(asked)).toMatchObject({ state: 'ready' });
  const needed = await sizeOf.mock.results[0]?.value;
  expect(needed).toBeGreaterThan(0);
  const { sourceId, name, bakeId, builderId } = asked;
  expect(await hypervisor.baking.sizeOf({ sourceId, name, bakeId, builderId, snapshotId: snapshot.id })).toBe(0);
  const flatten = vi.spyOn(hypervisor.baking, 'flatten');
  sizeOf.mockResolvedValue(Number.MAX_SAFE_INTEGER);
  const failure = { step: 'flattenDisks', code: 'host_disk_full' };
  expect(await bake(input())).toMatchObject({ state: 'failed', failure });
  expect(flatten).not.toHaveBeenCalled();
});

test('when the builder cannot be made, its reason is told', async () => {
  mayfly().failpoints.arm('bootDomain.before=error(boot_failed)');
  const asked = input();
  expect(await bake(asked)).toMatchObject({ state: 'failed', failure: { step: 'startBuilder', code: 'boot_failed' } });
  expect(await mayfly().record(asked.builderId)).toMatchObject({ state: 'failed' });
});

test('undos that fail are repeated until they hold', async () => {
  const undos = ['discardImages', 'retractSource'].flatMap((undo) => [
    `${undo}.before=2*error`,
    `${undo}.after=2*error`,
  ]);
  mayfly().failpoints.arm(['publishSource.after=error', ...undos].join(';'));
  expect(await bake(input())).toMatchObject({ state: 'failed', waitingFor: null, failure: { step: 'publishSource' } });
});

test('a builder that is deleted meanwhile fails the bake', async () => {
  mayfly().failpoints.arm('cleanGuest.before=1*delay(8000)');
  const asked = input();
  await mayfly().sagas.bakeSource(asked);
  await mayfly().until(asked.builderId, ({ state }) => state === 'running');
  await mayfly().destroy({ ...mayfly().input(), id: asked.builderId });
  expect(await ended(asked)).toMatchObject({ state: 'failed', failure: { code: 'bake_failed' } });
});

describe('one name', () => {
  test('is one source: a second bake is refused while the first runs, and when it has ended', async () => {
    const asked = input();
    mayfly().failpoints.arm('claimSourceName.before=1*delay(1000)');
    await mayfly().sagas.bakeSource(asked);
    await mayfly().sagas.bakeSource(asked);
    await expect(mayfly().sagas.bakeSource(input(asked.name))).rejects.toMatchObject({ code: 'source_exists' });
    const { sourceId, hostId, name } = asked;
    await expect(mayfly().sagas.deleteSource({ sourceId, hostId, name, actor })).rejects.toMatchObject({
      code: 'too_many_requests',
    });
    expect(await ended(asked)).toMatchObject({ state: 'ready', bakeId: asked.bakeId });
  });

  test('is refused to another bake that gets past the door, and the source stays ready', async () => {
    const asked = input();
    await bake(asked);
    expect(await bake(input(asked.name))).toMatchObject({ state: 'ready', bakeId: asked.bakeId, failure: null });
    expect(await audit(asked.name)).toEqual(['source.baking', 'source.baked']);
  });

  test('of a source that somebody else made is refused, and stays as it is', async () => {
    const failed = await bake(input('golden-debian12'));
    expect(failed).toMatchObject({ state: 'failed', failure: { step: 'claimSourceName', code: 'source_exists' } });
    expect(await remove('golden-debian12')).toMatchObject({ failure: { code: 'source_not_baked' } });
    expect(await readdir(tree('golden-debian12'))).toContain('etc');
  });
});

test('a delete that fails is repeated until it holds', async () => {
  const asked = input();
  await bake(asked);
  mayfly().failpoints.arm(['before', 'during', 'after'].map((where) => `removeSource.${where}=1*error`).join(';'));
  expect(await remove(asked.name)).toMatchObject({ state: 'deleted', waitingFor: null });
});

test('a delete that is refused leaves the source, and says why', async () => {
  const asked = input();
  await bake(asked);
  mayfly().failpoints.arm('removeSource.before=error(source_in_use)');
  expect(await remove(asked.name)).toMatchObject({ state: 'ready', failure: { code: 'source_in_use' } });
  await mayfly().keepHistory('source-delete-refused', '', bakeWorkflowIdOf('test', asked.name));
  expect(await listed()).toContain(asked.name);
});
