// @module-tag full
import { randomBytes } from 'node:crypto';
import { chmod, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { AgentConsole } from '../../../host/libvirt/guest/agent-console.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import type { BootWish } from '../../../model/sandbox/boot.ts';
import { expectRightTime, newSnapshotId, stepContext } from './living-guest.ts';
import { useMachine } from './machine.ts';

const machine = useMachine();
const PROJECT = 'alpha';
let templateId: string;

/** A sandbox that may wake from a template, made as a host makes it. */
class Created {
  readonly id = sandboxIdFrom(randomBytes(ID_BYTES));
  #hostKey = '';
  #address = '';

  async make(boot: BootWish = 'auto', project = PROJECT): Promise<this> {
    const { host, source, ca } = machine();
    const request = {
      sandboxId: this.id,
      source,
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      egress: 'none',
    } as const;
    const clone = await host.cloneDisk({ ...request, userCaKeys: [ca.publicKey], boot, project }, stepContext());
    this.#hostKey = clone.hostKey;
    return this;
  }

  async boot(): Promise<this> {
    const { host } = machine();
    await host.bootDomain(this.id, stepContext());
    this.#address = (await host.awaitLease(this.id, stepContext())).address;
    return this;
  }

  async run(command: string): Promise<string> {
    return (await machine().ca.ssh(this.#address, this.#hostKey, this.id, command)).stdout.trim();
  }

  boots() {
    return machine().host.bootOf(this.id);
  }

  async off(): Promise<void> {
    await machine().host.removeDomain(this.id);
    await machine().host.releaseLease(this.id);
  }

  async remove(): Promise<void> {
    await this.off();
    await machine().host.removeWorkspace(this.id);
    expect((await machine().host.look(this.id)).map((seen) => seen.absent)).toEqual([true, true, true]);
  }
}

/** Makes a template as its workflow does. @param meddle done by the guest when it has settled */
async function makeTemplate(meddle?: string): Promise<string> {
  const { host, virsh, source } = machine();
  const [builderId, id] = [sandboxIdFrom(randomBytes(ID_BYTES)), newSnapshotId()];
  const of = { source, cpus: null, memoryMib: null };
  const nobody = { sandboxId: builderId, snapshotId: null, userCaKeys: [], isOffline: true };
  await host.cloneDisk({ ...of, ...nobody, egress: 'none' }, stepContext());
  try {
    await host.bootDomain(builderId, stepContext());
    await host.templates.settle(builderId, stepContext());
    await host.templates.settle(builderId, stepContext());
    if (meddle) await new AgentConsole(virsh, builderId).run(['/bin/sh', '-ec', meddle]);
    await host.snapshots.save({ snapshotId: id, sandboxId: builderId, kind: 'full' }, stepContext());
    const { savedAt } = await host.snapshots.verify(id, stepContext());
    const key = await host.templates.keyOf({ ...of, project: PROJECT }, stepContext());
    await host.templates.publish({ key: key ?? '', templateId: id, savedAt });
    return id;
  } finally {
    await host.removeDomain(builderId);
    await host.removeWorkspace(builderId);
  }
}

async function removeTemplate(id: string): Promise<void> {
  await machine().host.templates.retire(id);
  await machine().host.snapshots.remove(id);
}

beforeAll(async () => {
  templateId = await makeTemplate();
});

/** One a line; what a program draws first, too. */
const UNIQUE = [
  'hostname',
  'cat /etc/machine-id',
  'cat /etc/ssh/ssh_host_ed25519_key.pub',
  'cat /sys/class/net/[!l]*/address',
  'hostname -I',
  'cat /proc/sys/kernel/random/boot_id',
  'head -c 16 /dev/urandom | od -An -tx1',
  'cat /proc/sys/kernel/random/uuid',
  "perl -e 'print rand, qq(\\n)'",
  'ssh-keygen -q -t ed25519 -N "" -f /dev/shm/key; cat /dev/shm/key.pub',
];

// Promise: what wakes from a template is nobody else, and nothing of its builder. Costs half a minute.
test('sandboxes that wake from one template have nothing in common that tells them apart', async () => {
  const sandboxes = await Promise.all([1, 2, 3].map(async () => (await new Created().make()).boot()));
  const said: string[][] = [];
  for (const sandbox of sandboxes) {
    expect(await sandbox.boots()).toMatchObject({ way: 'template', why: null, templateId });
    const askedAt = Date.now();
    const [seconds, ...lines] = (await sandbox.run(['date +%s', ...UNIQUE].join('; '))).split('\n');
    expectRightTime(seconds, askedAt);
    expect(lines).toHaveLength(UNIQUE.length);
    said.push(lines);
  }
  UNIQUE.forEach((what, n) => {
    expect(new Set(said.map((lines) => lines[n])).size, what).toBe(3);
  });
  const [one, ...others] = sandboxes;
  const left = await one?.run(
    'sudo ls /tmp /var/tmp; sudo grep -rl sbx- /etc /var/lib /run 2>/dev/null; awk \'$1 == "Tcp:"\' /proc/net/snmp | cut -d" " -f6,7',
  );
  const own = one?.id ?? '';
  expect(left?.split('\n').filter((line) => /sbx-/.test(line) && !line.includes(own))).toEqual([]);
  for (const other of others) await other.remove();

  // it reboots as who it is, with another boot id, and goes on as one that has booted
  const before = said[0]?.slice(0, 5);
  await one?.run('echo kept >~/kept; sync');
  await one?.off();
  await one?.boot();
  const again = (await one?.run(`${UNIQUE.slice(0, 6).join('; ')}; cat ~/kept`))?.split('\n') ?? [];
  expect(again.slice(0, 4)).toEqual(before?.slice(0, 4));
  expect(again[5]).not.toBe(said[0]?.[5]);
  expect(again[6]).toBe('kept');
  await machine().host.hibernate(own, stepContext());
  await machine().host.wake(own, 'running', stepContext());
  expect(await one?.run('hostname')).toBe(own);
  await one?.remove();
});

test('another project, and who asks for a cold one, boots', async () => {
  const [other, cold] = [await new Created().make('auto', 'beta'), await new Created().make('cold')];
  expect(await other.boots()).toMatchObject({ way: 'cold', why: 'no_template' });
  expect(await cold.boots()).toMatchObject({ way: 'cold', why: 'asked' });
  const wish = new Created();
  await expect(wish.make('template', 'beta')).rejects.toMatchObject({ code: 'template_unavailable' });
  for (const sandbox of [other, cold, wish]) await sandbox.remove();
});

// Promise: a guest that cannot be renewed reaches nobody; who asked for it gets one that has booted. Costs a minute.
test('a wake that fails boots cold, in the same sandbox; after three none is tried', async () => {
  const { host } = machine();
  const broken = await makeTemplate(
    "printf '#!/bin/sh\\necho no >&2\\nexit 1\\n' >/usr/bin/perl.new; chmod 755 /usr/bin/perl.new; mv /usr/bin/perl.new /usr/bin/perl",
  );
  const first = await (await new Created().make()).boot();
  expect(await first.boots()).toEqual({ way: 'cold', why: 'template_failed', templateId: null, ageSeconds: null });
  expect(await first.run("hostname; perl -e 'print 1'")).toBe(`${first.id}\n1`);
  await first.remove();
  for (let n = 0; n < 2; n++) {
    const wish = await new Created().make('template');
    await expect(host.bootDomain(wish.id, stepContext())).rejects.toMatchObject({ code: 'boot_failed' });
    expect((await host.whereabouts(wish.id)).domain).toBe('absent');
    await wish.remove();
  }
  const use = (await host.templates.uses()).find((one) => one.templateId === broken);
  expect(use).toMatchObject({
    wakes: 0,
    failuresInARow: 3,
    isReady: false,
    lastFailure: expect.stringContaining('no'),
  });
  const fourth = await new Created().make();
  expect(await fourth.boots()).toMatchObject({ way: 'cold', why: 'no_template' });
  await fourth.remove();
  await removeTemplate(broken);
});

test('memory, or a disk, that is not what was saved is not woken; a template that is removed stays for those that refer to it', async () => {
  const { host, state } = machine();
  for (const [n, file] of ['memory.save', 'vda.qcow2'].entries()) {
    const id = await makeTemplate();
    const sandbox = n === 0 ? await new Created().make() : null;
    const path = join(state.snapshot(id), file);
    await flip(path);
    const created = await (sandbox ?? (await new Created().make())).boot();
    expect(await created.boots()).toMatchObject({ way: 'cold', why: n === 0 ? 'template_failed' : 'template_changed' });
    expect((await host.templates.uses()).find((one) => one.templateId === id)?.isReady).toBe(false);
    expect(await created.run('hostname')).toBe(created.id);
    await created.remove();
    await removeTemplate(id);
  }
  const id = await makeTemplate();
  const living = await (await new Created().make()).boot();
  await host.templates.retire(id);
  expect((await host.snapshots.remove(id)).keptFor).toContain(living.id);
  await expect(stat(join(state.snapshot(id), 'memory.save'))).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await living.run('hostname')).toBe(living.id);
  await living.remove();
  await expect(stat(state.snapshot(id))).rejects.toMatchObject({ code: 'ENOENT' });
});

/** One byte in the middle. */
async function flip(path: string): Promise<void> {
  await chmod(path, 0o600);
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size >> 1);
    await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, size >> 1);
  } finally {
    await file.close();
  }
}
