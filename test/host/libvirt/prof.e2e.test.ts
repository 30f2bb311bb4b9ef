import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { ID_BYTES, snapshotIdFrom } from '../../../model/ids.ts';
import { TestCa } from './guest.ts';
import { LivingGuest, stepContext } from './living-guest.ts';
import { startMachine, type TestMachine } from './machine.ts';

let machine: TestMachine;
beforeAll(async () => {
  machine = await startMachine();
}, 120_000);
afterAll(async () => {
  await machine?.end();
}, 60_000);
const say = (s: string) => process.stderr.write(`PROF ${s}\n`);
test('prof', async () => {
  const ca = await TestCa.make(await mkdtemp(join(tmpdir(), 'k-')));
  const guest = await LivingGuest.start(machine, ca);
  const { host, virsh, state } = machine;
  await delay(5000);
  for (let round = 0; round < 10; round++) {
    await guest.run('dd if=/dev/urandom of=own bs=1M count=4 status=none');
    const id = snapshotIdFrom(randomBytes(ID_BYTES));
    const a = performance.now();
    await host.snapshots.save({ snapshotId: id, sandboxId: guest.id, kind: 'disk' }, stepContext());
    const b = performance.now();
    await host.snapshots.verify(id, stepContext());
    const c = performance.now();
    say(`round ${round}: save ${(b - a).toFixed(0)} verify ${(c - b).toFixed(0)} total ${(c - a).toFixed(0)}`);
    if (round === 8) await host.snapshots.flatten(guest.id, stepContext());
  }
  // the plain tool, on the same machine afterwards
  for (let round = 0; round < 10; round++) {
    await guest.run('dd if=/dev/urandom of=own bs=1M count=4 status=none');
    const a = performance.now();
    await virsh.run([
      'snapshot-create-as',
      guest.id,
      '--no-metadata',
      '--disk-only',
      '--quiesce',
      '--atomic',
      '--diskspec',
      `vda,file=${join(state.workspace(guest.id), `plain${round}.q`)}`,
      '--diskspec',
      'sda,snapshot=no',
    ]);
    say(`plain ${round}: ${(performance.now() - a).toFixed(0)}`);
  }
  await guest.remove();
}, 300_000);
