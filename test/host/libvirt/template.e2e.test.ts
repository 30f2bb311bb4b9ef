// @module-tag full
import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import { newSnapshotId, stepContext } from './living-guest.ts';
import { useMachine } from './machine.ts';

const machine = useMachine();
const PROJECT = 'alpha';
const newId = () => sandboxIdFrom(randomBytes(ID_BYTES));
let templateId: string;
let key: string;

const request = (sandboxId: string) => {
  const { source, ca } = machine();
  const plain = { sandboxId, source, snapshotId: null, cpus: null, memoryMib: null, egress: 'none' as const };
  return { ...plain, userCaKeys: [ca.publicKey], project: PROJECT };
};

async function remove(sandboxId: string): Promise<void> {
  const { host } = machine();
  await host.removeDomain(sandboxId);
  await host.releaseLease(sandboxId);
  await host.removeWorkspace(sandboxId);
}

async function timed<T>(what: string, step: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await step();
  process.stderr.write(`${what} ${((performance.now() - began) / 1_000).toFixed(2)} s\n`);
  return result;
}

beforeAll(async () => {
  const { host, source } = machine();
  const builderId = newId();
  templateId = newSnapshotId();
  await timed('build', async () => {
    await timed('  clone', () =>
      host.cloneDisk({ ...request(builderId), userCaKeys: [], boot: 'cold', isOffline: true }, stepContext()),
    );
    await timed('  boot', () => host.bootDomain(builderId, stepContext()));
    await timed('  settle', () => host.templates.settle(builderId, stepContext()));
    await timed('  save', () =>
      host.snapshots.save({ snapshotId: templateId, sandboxId: builderId, kind: 'full' }, stepContext()),
    );
    const saved = await timed('  verify', () => host.snapshots.verify(templateId, stepContext()));
    process.stderr.write(`${JSON.stringify(saved)}\n`);
    await timed('  remove', () => remove(builderId));
  });
  const found = await host.templates.keyOf({ project: PROJECT, source, cpus: null, memoryMib: null }, stepContext());
  key = found ?? '';
  await host.templates.publish({ key, templateId, savedAt: new Date().toISOString() });
});

async function create(sandboxId: string) {
  const { host } = machine();
  const clone = await timed('cloneDisk', () => host.cloneDisk({ ...request(sandboxId), boot: 'auto' }, stepContext()));
  await timed('bootDomain', () => host.bootDomain(sandboxId, stepContext()));
  const lease = await timed('awaitLease', () => host.awaitLease(sandboxId, stepContext()));
  return { clone, lease };
}

test('a sandbox wakes from a template', async () => {
  const { host, ca } = machine();
  for (let n = 0; n < 3; n++) {
    const id = newId();
    const { clone, lease } = await timed('create', async () => {
      const made = await create(id);
      await timed('ssh', () => ca.ssh(made.lease.address, made.clone.hostKey, id, 'true'));
      return made;
    });
    expect(await host.bootOf(id)).toMatchObject({ way: 'template', templateId });
    const { stdout } = await timed('ssh', () =>
      ca.ssh(
        lease.address,
        clone.hostKey,
        id,
        'hostname; cat /etc/machine-id; date +%s; systemctl --failed --no-legend; ps ax',
      ),
    );
    process.stderr.write(stdout);
    await remove(id);
  }
});
