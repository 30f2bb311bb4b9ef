import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { BakeRequest } from '../../../../host/baking.ts';
import { imageChain } from '../../../../host/disk/image.ts';
import { deriveSourceId, ID_BYTES, operationIdFrom } from '../../../../model/ids.ts';
import { LivingGuest, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { readableByNobody } from '../../../support/local-user.ts';

const machine = useMachine();

const IDENTITY = 'cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub /sys/class/net/[!l]*/address; hostname';
const NAME = 'with-tools';
const baked = () => join(machine().state.images, 'baked');

test('a source baked from a snapshot has its files, no backing files, and no trace of either parent', async () => {
  const { host, virsh, state, source } = machine();
  const first = await LivingGuest.wake(machine());
  const secrets = 'echo secret > .bash_history; sudo sh -c "hostname > /var/log/mine; echo x > /tmp/x"';
  const own = await first.run(`echo kept > note; ${secrets}; ${IDENTITY}`);
  const [snapshotId] = await first.save();
  await first.remove();

  const builder = await LivingGuest.start(machine(), snapshotId);
  await builder.run('true');
  const request: BakeRequest = {
    bakeId: operationIdFrom(randomBytes(ID_BYTES)),
    sourceId: deriveSourceId('test', NAME),
    name: NAME,
    snapshotId,
    builderId: builder.id,
  };
  const { baking } = host;
  await expect(baking.claim({ ...request, name: source })).rejects.toMatchObject({ code: 'source_exists' });
  await baking.claim(request);
  await expect(baking.flatten(request, stepContext())).rejects.toMatchObject({ code: 'bake_failed' });
  const took = (what: string, since: number) =>
    process.stderr.write(`${what} ${(performance.now() - since).toFixed(0)} ms\n`);
  let began = performance.now();
  await baking.clean(request, stepContext());
  took('cleaned in', began);
  began = performance.now();
  for (let twice = 0; twice < 2; twice++) await baking.shutDown(request, stepContext());
  took('shut down in', began);
  began = performance.now();
  const image = await baking.flatten(request, stepContext());
  took('copied in', began);
  expect(await baking.flatten(request, stepContext())).toEqual(image);
  expect(image).toMatchObject({ disks: [{ target: 'vda', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }] });
  expect(await readdir(baked())).toEqual([`.${NAME}.new`]);
  for (let twice = 0; twice < 2; twice++) await baking.publish(request, stepContext());
  expect(await readdir(baked())).toEqual([NAME]);
  expect((await readdir(join(baked(), NAME))).sort()).toEqual(['baked.json', 'disk.qcow2', 'initrd', 'kernel']);
  const disk = join(baked(), NAME, 'disk.qcow2');
  expect((await imageChain(disk, 'qcow2')).map(({ path }) => path)).toEqual([disk]);
  expect([(await stat(disk)).mode & 0o777, (await stat(disk)).uid]).toEqual([0o440, 0]);
  expect(await readableByNobody(machine().state.root)).toEqual([]);
  await builder.remove();
  expect(await host.snapshots.remove(snapshotId)).toEqual({ keptFor: null });
  expect(await host.source(NAME)).toMatchObject({ cloneable: true, problem: null, cpus: 1, memoryMib: 512 });
  const xml = await virsh.run(['dumpxml', `--domain=${NAME}`]);
  for (const trace of [first.id, builder.id, 'seed.iso', state.sandboxes, state.snapshots, 'cdrom'])
    expect(xml).not.toContain(trace);

  const clone = await LivingGuest.start(machine(), null, NAME);
  const traces = `sudo grep -rlaF -e ${first.id} -e ${builder.id} /etc /var /root /home || true`;
  const said = await clone.run(`cat note; ls -A . /tmp; echo --; ${IDENTITY}; echo --; ${traces}`);
  const [files = '', theirs = '', found] = said.split('--').map((part) => part.trim());
  expect(files).not.toMatch(/bash_history|^x$/m);
  expect(files.split('\n')[0]).toBe('kept');
  expect(theirs.split('\n')).toHaveLength(4);
  expect(theirs.split('\n').filter((line) => own.includes(line))).toEqual([]);
  expect(found).toBe('');
  await expect(baking.remove(request)).rejects.toMatchObject({
    code: 'source_in_use',
    message: expect.stringContaining(clone.id),
  });
  expect(await clone.run('cat note')).toBe('kept');
  const power = { sourceId: request.sourceId, source: NAME, answersMs: 180_000, force: false, withinMs: 180_000 };
  await expect(host.power.start(power, stepContext())).rejects.toMatchObject({
    code: 'source_in_use',
    message: expect.stringContaining(clone.id),
  });
  await clone.remove();
  expect(await host.power.start(power, stepContext())).toEqual({ guestAnswers: true });
  await expect(baking.remove(request)).rejects.toMatchObject({ code: 'source_running' });
  await host.power.stop(power, stepContext());
  await expect(baking.remove({ ...request, sourceId: deriveSourceId('test', 'other') })).rejects.toMatchObject({
    code: 'source_not_baked',
  });
  for (let twice = 0; twice < 2; twice++) await baking.remove(request);
  expect(await readdir(baked())).toEqual([]);
  expect(await virsh.run(['list', '--all', '--name'])).not.toContain(NAME);
}, 900_000);
