import { lstat, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, vi } from 'vitest';
import { deriveSourceId } from '../../../model/ids.ts';
import { Bakery } from '../../support/baked.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Runs the bakes of test/workflows/bake-source.integration.test.ts with real trees, which are cleaned and copied. */
const { alone } = useSagaCases();
const actor = { apiKeyId: 'test', agentId: null };

interface TreeBakery extends Bakery {
  /** Image folders of this test, complete or partial. */
  images(): Promise<string[]>;
}

const folder = (mayfly: MayflyCase) => join(mayfly.config.stateDir, 'images');
const tree = (mayfly: MayflyCase, name: string) => join(folder(mayfly), name, 'root');

const test = alone.extend<{ bakery: TreeBakery }>({
  bakery: async ({ mayfly, operations }, use) => {
    const { id } = await mayfly.create();
    await operations.sh(
      id,
      'echo kept > ~/note; echo secret > ~/.bash_history; echo x > /tmp/x; mkdir ~/.python_history',
    );
    const bakery = new Bakery(mayfly, await operations.snapshot(id));
    const isOwn = (entry: string) => bakery.isMade(entry.replace(/^\.(.*)\.(?:new|gone)$/, '$1'));
    const images = async () => (await readdir(folder(mayfly))).filter(isOwn);
    await use(Object.assign(bakery, { images }));
    mayfly.disarm();
    await bakery.clear(await images());
    expect(await images()).toEqual([]);
  },
});

afterEach(() => vi.restoreAllMocks());

describe.concurrent('a source of trees', () => {
  test('a source baked from a snapshot has no identity of its machine, and outlives snapshot and sandbox', async ({
    mayfly,
    operations,
    bakery,
  }) => {
    const asked = bakery.input();
    const { name } = asked;
    const baked = await bakery.bake(asked);
    expect(baked).toMatchObject({
      state: 'ready',
      snapshotId: bakery.snapshot.id,
      sandboxId: bakery.snapshot.sandboxId,
      createdBy: actor,
      image: { disks: [{ target: 'root', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] },
      failure: null,
      waitingFor: null,
    });
    expect(await bakery.listed()).toContain(name);
    expect(await mayfly.record(asked.builderId)).toMatchObject({ state: 'destroyed', failure: null });
    for (const gone of [
      'etc/machine-id',
      'etc/hostname',
      'etc/ssh/ssh_host_ed25519_key',
      'etc/ssh/mayfly_principals',
    ]) {
      await expect(lstat(join(tree(mayfly, name), gone))).rejects.toMatchObject({ code: 'ENOENT' });
    }
    expect(await readdir(join(tree(mayfly, name), 'tmp'))).toEqual([]);
    expect(await readdir(join(tree(mayfly, name), 'home/sandbox'))).not.toContain('.bash_history');
    expect(await bakery.bake(asked)).toMatchObject({ state: 'ready', bakeId: asked.bakeId });

    await operations.delete(bakery.snapshot);
    await mayfly.destroy(bakery.snapshot.sandboxId);
    const clone = await mayfly.create(mayfly.input({ source: name }));
    expect(clone).toMatchObject({ state: 'running', failure: null });
    expect(await operations.read(clone.id)).toBe('kept\n');
    const identity = await operations.sh(clone.id, 'cat /etc/hostname /etc/machine-id; ls -A ~ /tmp');
    expect(identity).toContain(clone.id);
    expect(identity).not.toContain(bakery.snapshot.sandboxId);
    await mayfly.destroy(clone.id);
    expect(await bakery.remove(name)).toMatchObject({ state: 'deleted' });
    expect(await bakery.listed()).not.toContain(name);
    expect(await bakery.audit(name)).toEqual(['source.baking', 'source.baked', 'source.deleting', 'source.deleted']);
    expect(await mayfly.store.audit.verify(deriveSourceId('test', name))).toMatchObject({ ok: true });
  });

  test('a second bake of a snapshot copies the first source, unless that was changed or is missing', async ({
    mayfly,
    bakery,
  }) => {
    const first = bakery.input();
    await bakery.bake(first);
    const copy = { ...bakery.input(), like: first.name };
    mayfly.arm('copyBakedSource.after=2*error(clone_failed)', copy.sourceId);
    const copied = await bakery.bake(copy);
    expect(copied).toMatchObject({ state: 'ready', image: (await bakery.recordOf(first.name)).image });
    expect(await mayfly.store.sandboxes.get(copy.builderId)).toBeNull();
    expect(await bakery.listed()).toContain(copy.name);

    const refused = { ...bakery.input(), like: copy.name };
    mayfly.arm('publishSource.during=error', refused.sourceId);
    expect(await bakery.bake(refused)).toMatchObject({ state: 'failed', failure: { step: 'publishSource' } });
    expect((await bakery.images()).sort()).toEqual([first.name, copy.name].sort());

    await writeFile(join(tree(mayfly, copy.name), 'etc/changed'), 'by who has started it');
    for (const like of [copy.name, 'baked-never-was']) {
      const anew = { ...bakery.input(), like };
      expect(await bakery.bake(anew)).toMatchObject({ state: 'ready' });
      expect(await mayfly.record(anew.builderId)).toMatchObject({ state: 'destroyed' });
      expect(await readdir(join(tree(mayfly, anew.name), 'etc'))).not.toContain('changed');
    }
  });

  test('a symlink in the guest cannot redirect the cleanup to another file', async ({ mayfly, operations, bakery }) => {
    const outside = join(mayfly.config.stateDir, 'outside');
    await writeFile(outside, 'stays');
    const { id } = await mayfly.create();
    const climb = '../'.repeat(12).slice(0, -1);
    await operations.sh(
      id,
      `ln -s ${climb}${outside} ~/.bash_history; ln -s ${climb}${mayfly.config.stateDir} ~/.viminfo; ln -s ${climb}${mayfly.config.stateDir} /tmp/d`,
    );
    bakery.snapshot = await operations.snapshot(id);
    const asked = bakery.input();
    expect(await bakery.bake(asked)).toMatchObject({ state: 'ready' });
    expect(await readFile(outside, 'utf8')).toBe('stays');
    expect(await readdir(join(tree(mayfly, asked.name), 'home/sandbox'))).not.toContain('.viminfo');
    expect(await readdir(join(tree(mayfly, asked.name), 'tmp'))).toEqual([]);
  });

  test('a source that Mayfly did not bake is neither replaced nor deleted', async ({ mayfly, bakery }) => {
    const failed = await bakery.bake(bakery.input('golden-debian12'));
    expect(failed).toMatchObject({ state: 'failed', failure: { step: 'claimSourceName', code: 'source_exists' } });
    expect(await bakery.remove('golden-debian12')).toMatchObject({ failure: { code: 'source_not_baked' } });
    expect(await readdir(tree(mayfly, 'golden-debian12'))).toContain('etc');
  });
});

test('a bake that exceeds the free disk space copies nothing, and its size counts once', async ({ mayfly, bakery }) => {
  const hypervisor = mayfly.host?.machine.hypervisor;
  if (!hypervisor) throw new Error('there is no host');
  const sizeOf = vi.spyOn(hypervisor.baking, 'sizeOf');
  const asked = bakery.input();
  expect(await bakery.bake(asked)).toMatchObject({ state: 'ready' });
  const needed = await sizeOf.mock.results[0]?.value;
  expect(needed).toBeGreaterThan(0);
  const { sourceId, name, bakeId, builderId } = asked;
  expect(await hypervisor.baking.sizeOf({ sourceId, name, bakeId, builderId, snapshotId: bakery.snapshot.id })).toBe(0);
  const flatten = vi.spyOn(hypervisor.baking, 'flatten');
  sizeOf.mockResolvedValue(Number.MAX_SAFE_INTEGER);
  const failure = { step: 'flattenDisks', code: 'host_disk_full' };
  expect(await bakery.bake(bakery.input())).toMatchObject({ state: 'failed', failure });
  expect(flatten).not.toHaveBeenCalled();
});
