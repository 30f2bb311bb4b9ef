import { mkdir, readdir, readFile, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SshEndpoint } from '../../../../model/sandbox/sandbox.ts';
import {
  answers,
  newId,
  newSnapshotId,
  SILENCE_MS,
  stepContext,
  TestMachine,
} from '../../../host/simulated/machine.ts';

let machine: TestMachine;

beforeAll(async () => {
  machine = await TestMachine.start();
});
afterAll(() => machine.stop());

const root = (id: string) => join(machine.state.workspace(id), 'root');

const login = (id: string, snapshotId: string | null = null) => machine.login(id, snapshotId);
const save = (id: string) => machine.save(id);
const reboot = (id: string, endpoint: SshEndpoint) => machine.reboot(id, endpoint);

describe('a snapshot', () => {
  test('outlives its sandbox; a fork has the saved files, and its own identity', async () => {
    const [parent, fork] = [newId(), newId()];
    const endpoint = await login(parent);
    await machine.run(endpoint, parent, 'echo first > first; ln first linked; mkfifo pipe');
    const snapshotId = await save(parent);
    await machine.run(endpoint, parent, 'echo second > second; echo changed > first');
    const saved = await machine.hypervisor.snapshots.verify(snapshotId, stepContext());
    expect(saved).toMatchObject({ kind: 'disk', quiesced: true, disks: [{ target: 'root' }] });
    expect(saved.sizeBytes).toBeGreaterThan(0);
    const parentMachineId = await readFile(join(root(parent), 'etc/machine-id'), 'utf8');
    await machine.destroy(parent);

    const forked = await login(fork, snapshotId);
    expect(await machine.run(forked, fork, 'cat first linked; ls; hostname; cat /etc/hostname')).toBe(
      ['first', 'first', 'README', 'first', 'linked', 'pipe', fork, fork].join('\n'),
    );
    expect(forked.hostKey).not.toBe(endpoint.hostKey);
    expect(await readFile(join(root(fork), 'etc/machine-id'), 'utf8')).not.toBe(parentMachineId);
    await machine.certify(parent);
    await expect(machine.verify(forked, parent, stepContext(3_000))).rejects.toThrow();
    await machine.credentials.removeCredentials(parent);
    expect(await machine.hypervisor.snapshots.verify(snapshotId, stepContext())).toEqual(saved);
  });

  test('is taken while programs constantly start', async () => {
    const id = newId();
    const endpoint = await login(id);
    const busy = 'while :; do /bin/echo x >> count; /bin/true; done';
    await machine.run(endpoint, id, `for n in 1 2 3; do setsid sh -c '${busy}' >/dev/null 2>&1 </dev/null & done`);
    for (let n = 0; n < 5; n++) await save(id);
    const before = await machine.run(endpoint, id, 'wc -c < count; sleep 0.2');
    expect(await machine.run(endpoint, id, 'wc -c < count')).not.toBe(before);
    await machine.destroy(id);
  });

  test('is made once, of one sandbox, which has to be on', async () => {
    const [id, other] = [newId(), newId()];
    const { snapshots } = machine.hypervisor;
    const endpoint = await login(id);
    const snapshotId = await save(id);
    await machine.run(endpoint, id, 'touch later');
    await snapshots.save({ snapshotId, sandboxId: id, kind: 'disk' }, stepContext());
    expect(await readdir(join(machine.state.snapshot(snapshotId), 'root/home/sandbox'))).toEqual(['README']);

    const refused = (request: object) =>
      snapshots.save({ snapshotId, sandboxId: id, kind: 'disk', ...request }, stepContext()).then(
        () => 'saved',
        (error: { code?: string }) => error.code,
      );
    expect(await refused({ sandboxId: other })).toBe('snapshot_failed');
    expect(await refused({ kind: 'full' })).toBe('snapshot_unsupported');
    await machine.hypervisor.removeDomain(id);
    expect(await refused({ snapshotId: newSnapshotId() })).toBe('sandbox_not_running');
    await expect(snapshots.verify(newSnapshotId(), stepContext())).rejects.toMatchObject({ code: 'snapshot_failed' });
  });

  test('that was changed is detected', async () => {
    const id = newId();
    await login(id);
    const snapshotId = await save(id);
    await machine.hypervisor.snapshots.verify(snapshotId, stepContext());
    await writeFile(join(machine.state.snapshot(snapshotId), 'root/home/sandbox/README'), 'changed');
    const again = machine.hypervisor.snapshots.verify(snapshotId, stepContext());
    await expect(again).rejects.toMatchObject({ code: 'snapshot_failed' });
  });

  test('is listed until its repeatable removal, and cannot be used afterwards', async () => {
    const [id, fork] = [newId(), newId()];
    const { snapshots } = machine.hypervisor;
    await login(id);
    const [one, other] = [await save(id), await save(id)];
    await mkdir(join(machine.state.snapshots, 'not-ours'));
    const half = newSnapshotId();
    await mkdir(`${machine.state.snapshot(half)}.new/root`, { recursive: true });
    expect(await snapshots.list()).toEqual(
      expect.arrayContaining([
        { snapshotId: one, state: 'whole' },
        { snapshotId: other, state: 'whole' },
        { snapshotId: half, state: 'half' },
      ]),
    );
    for (const gone of [one, half, one]) expect(await snapshots.remove(gone)).toEqual({ keptFor: null });
    const left = (await snapshots.list()).map(({ snapshotId }) => snapshotId);
    expect(left).toContain(other);
    expect(left).not.toContain(one);
    expect(await readdir(machine.state.snapshots)).not.toContain(`${half}.new`);
    await expect(machine.boot(fork, one)).rejects.toMatchObject({ code: 'snapshot_not_found' });
    await machine.destroy(fork);
    const revert = snapshots.revert({ sandboxId: id, snapshotId: one, restoreId: 'r' }, stepContext());
    await expect(revert).rejects.toMatchObject({ code: 'restore_failed' });
  });
});

describe('a restore', () => {
  test('resets the disk, keeps identity and address, is done once, and can be undone', async () => {
    const id = newId();
    const { snapshots } = machine.hypervisor;
    const endpoint = await login(id);
    await machine.run(endpoint, id, 'echo one > file');
    const first = await save(id);
    await machine.run(endpoint, id, 'echo two > file');
    const second = await save(id);
    const revert = (snapshotId: string, restoreId: string) =>
      snapshots.revert({ sandboxId: id, snapshotId, restoreId }, stepContext());
    await expect(revert(first, 'there')).rejects.toMatchObject({ code: 'restore_failed' });

    await machine.hypervisor.removeDomain(id);
    await revert(first, 'there');
    await reboot(id, endpoint);
    expect(await machine.run(endpoint, id, 'cat file; hostname')).toBe(`one\n${id}`);
    await machine.run(endpoint, id, 'echo three > file');
    await revert(first, 'there');
    expect(await machine.run(endpoint, id, 'cat file')).toBe('three');

    await machine.hypervisor.removeDomain(id);
    await revert(second, 'there-back');
    await reboot(id, endpoint);
    expect(await machine.run(endpoint, id, 'cat file')).toBe('two');
    expect((await readdir(machine.state.workspace(id))).filter((name) => name.startsWith('root'))).toEqual(['root']);
  });

  test("refuses another sandbox's snapshot, and leaves the disk unchanged", async () => {
    const [id, other] = [newId(), newId()];
    await login(id);
    const endpoint = await login(other);
    await machine.run(endpoint, other, 'touch mine');
    const snapshotId = await save(id);
    await machine.hypervisor.removeDomain(other);
    const revert = machine.hypervisor.snapshots.revert({ sandboxId: other, snapshotId, restoreId: 'r' }, stepContext());
    await expect(revert).rejects.toMatchObject({ code: 'restore_failed' });
    await reboot(other, endpoint);
    expect(await machine.run(endpoint, other, 'ls')).toContain('mine');
  });
});

describe('a paused sandbox', () => {
  test('stays stopped, also during a save, until it is resumed', async () => {
    const id = newId();
    const { hypervisor } = machine;
    const endpoint = await login(id);
    await machine.run(endpoint, id, 'touch before');
    await hypervisor.pause(id);
    await hypervisor.pause(id);
    expect((await hypervisor.whereabouts(id)).domain).toBe('paused');
    expect(await answers(endpoint, SILENCE_MS)).toBe(false);
    const snapshotId = await save(id);
    await hypervisor.snapshots.thaw(id);
    expect((await hypervisor.whereabouts(id)).domain).toBe('paused');
    expect(await readdir(join(machine.state.snapshot(snapshotId), 'root/home/sandbox'))).toContain('before');
    await hypervisor.resume(id);
    await hypervisor.resume(id);
    expect((await hypervisor.whereabouts(id)).domain).toBe('running');
    expect(await machine.run(endpoint, id, 'ls')).toContain('before');
  });

  test('resumes without the processes that it had stopped itself', async () => {
    const id = newId();
    const endpoint = await login(id);
    await machine.run(endpoint, id, 'sh -c "kill -STOP \\$\\$" >/dev/null 2>&1 </dev/null & echo $! > pid');
    const state = () => machine.run(endpoint, id, 'cut -d" " -f3 /proc/$(cat pid)/stat');
    await expect.poll(state).toBe('T');
    await machine.hypervisor.pause(id);
    await machine.hypervisor.resume(id);
    await save(id);
    expect(await state()).toBe('T');
  });

  test('can be ended, restored and booted; one that is off cannot be paused', async () => {
    const id = newId();
    const endpoint = await login(id);
    const snapshotId = await save(id);
    await machine.hypervisor.pause(id);
    await machine.hypervisor.removeDomain(id);
    expect((await machine.hypervisor.whereabouts(id)).domain).toBe('off');
    for (const step of [machine.hypervisor.pause(id), machine.hypervisor.resume(id)]) {
      await expect(step).rejects.toMatchObject({ code: 'sandbox_not_running' });
    }
    await machine.hypervisor.snapshots.revert({ sandboxId: id, snapshotId, restoreId: 'r' }, stepContext());
    await reboot(id, endpoint);
    expect((await machine.hypervisor.whereabouts(id)).domain).toBe('running');
  });
});

describe('a disk changed by a hostile guest', () => {
  /** Takes a snapshot of a sandbox whose tree was changed. */
  async function hostile(make: (root: string) => Promise<void>): Promise<string> {
    const id = newId();
    await login(id);
    await make(root(id));
    return save(id);
  }

  test('has its links to seeded files replaced, not followed', async () => {
    const outside = join(machine.state.root, 'outside');
    await writeFile(outside, 'untouched');
    const snapshotId = await hostile(async (tree) => {
      for (const name of ['hostname', 'machine-id', 'ssh/mayfly_principals']) {
        await unlink(join(tree, 'etc', name));
        await symlink(outside, join(tree, 'etc', name));
      }
    });
    const fork = newId();
    await login(fork, snapshotId);
    expect(await readFile(outside, 'utf8')).toBe('untouched');
  });

  test.each([
    ['etc/ssh', 'clone_failed'],
    ['opt', 'boot_failed'],
  ])('is refused for a link in the place of /%s', async (folder, code) => {
    const outside = join(machine.state.root, `outside-${code}`);
    await mkdir(outside);
    const snapshotId = await hostile(async (tree) => {
      const [name = ''] = folder.split('/').slice(-1);
      await symlink(outside, join(tree, 'link'));
      await rename(join(tree, folder), join(tree, `${name}-was`));
      await symlink(outside, join(tree, folder));
    });
    const fork = newId();
    await expect(machine.boot(fork, snapshotId)).rejects.toMatchObject({ code });
    expect(await readdir(outside)).toEqual([]);
    await machine.destroy(fork);
  });

  test('is saved with a digest, also with names that are not text, and deep folders', async () => {
    const snapshotId = await hostile(async (tree) => {
      await writeFile(Buffer.concat([Buffer.from(join(tree, 'tmp/')), Buffer.from([0xff, 0x0a, 0x1b])]), 'x');
      await mkdir(join(tree, 'tmp', ...Array.from({ length: 100 }, () => 'deep')), { recursive: true });
    });
    const { disks } = await machine.hypervisor.snapshots.verify(snapshotId, stepContext());
    expect(disks[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });
});
