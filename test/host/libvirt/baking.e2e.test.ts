import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BakeRequest } from '../../../host/baking.ts';
import { imageChain } from '../../../host/disk/image.ts';
import type { Clone, StepContext } from '../../../host/hypervisor.ts';
import { ID_BYTES, operationIdFrom, sandboxIdFrom, snapshotIdFrom, sourceIdOf } from '../../../model/ids.ts';
import { TestCa } from './guest.ts';
import { startMachine, type TestMachine } from './machine.ts';

let machine: TestMachine;
let ca: TestCa;
let keys: string;

beforeAll(async () => {
  machine = await startMachine();
  keys = await mkdtemp(join(tmpdir(), 'mf-keys-'));
  ca = await TestCa.make(keys);
}, 120_000);

afterAll(async () => {
  await machine?.end();
  if (keys) await rm(keys, { recursive: true, force: true });
}, 60_000);

const context = (): StepContext => ({ signal: AbortSignal.timeout(180_000), alive: () => {} });

/** A sandbox that has been logged in to. */
class Guest {
  readonly id = sandboxIdFrom(randomBytes(ID_BYTES));
  private clone: Clone | null = null;
  private address = '';

  static async start(source: string, snapshotId: string | null = null): Promise<Guest> {
    const guest = new Guest();
    const request = { sandboxId: guest.id, source, snapshotId, cpus: null, memoryMib: null };
    guest.clone = await machine.host.cloneDisk({ ...request, egress: 'none', userCaKeys: [ca.publicKey] }, context());
    await machine.host.bootDomain(guest.id, context());
    guest.address = (await machine.host.awaitLease(guest.id, context())).address;
    await guest.run('true');
    return guest;
  }

  async run(command: string): Promise<string> {
    return (await ca.ssh(this.address, this.clone?.hostKey ?? '', this.id, command)).stdout.trim();
  }

  async remove(): Promise<void> {
    await machine.host.removeDomain(this.id);
    await machine.host.releaseLease(this.id);
    await machine.host.removeWorkspace(this.id);
    expect((await machine.host.look(this.id)).map((seen) => seen.absent)).toEqual([true, true, true]);
  }
}

const IDENTITY = 'cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub /sys/class/net/[!l]*/address; hostname';
const NAME = 'with-tools';
const baked = () => join(machine.state.images, 'baked');

test('a source baked of a snapshot has its files, leans on nothing, and knows neither of its forebears', async () => {
  const { host, virsh, state, source } = machine;
  const first = await Guest.start(source);
  await first.run(
    'echo kept > note; echo secret > .bash_history; sudo sh -c "hostname > /var/log/mine; echo x > /tmp/x"',
  );
  const own = await first.run(IDENTITY);
  const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
  await host.snapshots.save({ snapshotId, sandboxId: first.id, kind: 'disk' }, context());
  await host.snapshots.verify(snapshotId, context());
  await first.remove();

  const builder = await Guest.start(source, snapshotId);
  const request: BakeRequest = {
    bakeId: operationIdFrom(randomBytes(ID_BYTES)),
    sourceId: sourceIdOf('test', NAME),
    name: NAME,
    snapshotId,
    builderId: builder.id,
  };
  const { baking } = host;
  await expect(baking.claim({ ...request, name: source })).rejects.toMatchObject({ code: 'source_exists' });
  await baking.claim(request);
  await expect(baking.flatten(request, context())).rejects.toMatchObject({ code: 'bake_failed' });
  const took = (what: string, since: number) =>
    process.stderr.write(`${what} ${(performance.now() - since).toFixed(0)} ms\n`);
  let began = performance.now();
  await baking.clean(request, context());
  took('cleaned in', began);
  began = performance.now();
  for (let twice = 0; twice < 2; twice++) await baking.shutDown(request, context());
  took('shut down in', began);
  began = performance.now();
  const image = await baking.flatten(request, context());
  took('copied in', began);
  expect(await baking.flatten(request, context())).toEqual(image);
  expect(image).toMatchObject({ disks: [{ target: 'vda', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] });
  expect(await readdir(baked())).toEqual([`.${NAME}.new`]);
  for (let twice = 0; twice < 2; twice++) await baking.publish(request, context());
  expect(await readdir(baked())).toEqual([NAME]);
  expect((await readdir(join(baked(), NAME))).sort()).toEqual(['baked.json', 'disk.qcow2', 'initrd', 'kernel']);
  const disk = join(baked(), NAME, 'disk.qcow2');
  expect((await imageChain(disk, 'qcow2')).map(({ path }) => path)).toEqual([disk]);
  expect([(await stat(disk)).mode & 0o777, (await stat(disk)).uid]).toEqual([0o444, 0]);
  await builder.remove();
  expect(await host.snapshots.remove(snapshotId)).toEqual({ keptFor: null });
  expect(await host.source(NAME)).toMatchObject({ cloneable: true, problem: null, cpus: 1, memoryMib: 512 });
  const xml = await virsh.run(['dumpxml', `--domain=${NAME}`]);
  for (const trace of [first.id, builder.id, 'seed.iso', state.sandboxes, state.snapshots, 'cdrom'])
    expect(xml).not.toContain(trace);

  const clone = await Guest.start(NAME);
  expect(await clone.run('cat note; ls -A . /tmp')).not.toMatch(/bash_history|^x$/m);
  expect(await clone.run('cat note')).toBe('kept');
  const theirs = await clone.run(IDENTITY);
  expect(theirs.split('\n')).toHaveLength(4);
  expect(theirs.split('\n').filter((line) => own.includes(line))).toEqual([]);
  expect(await clone.run(`sudo grep -rlaF -e ${first.id} -e ${builder.id} /etc /var /root /home || true`)).toBe('');
  await expect(baking.remove(request)).rejects.toMatchObject({
    code: 'source_in_use',
    message: expect.stringContaining(clone.id),
  });
  expect(await clone.run('cat note')).toBe('kept');
  await clone.remove();
  await expect(baking.remove({ ...request, sourceId: sourceIdOf('test', 'other') })).rejects.toMatchObject({
    code: 'source_not_baked',
  });
  for (let twice = 0; twice < 2; twice++) await baking.remove(request);
  expect(await readdir(baked())).toEqual([]);
  expect(await virsh.run(['list', '--all', '--name'])).not.toContain(NAME);
}, 400_000);
