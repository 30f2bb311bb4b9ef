import { chmod, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { Created, makeTemplate, removeTemplate } from '../../../host/libvirt/created.ts';
import { expectRightTime, stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';

const machine = useMachine();
let templateId: string;

beforeAll(async () => {
  templateId = await makeTemplate(machine());
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
  const sandboxes = await Promise.all([1, 2, 3].map(async () => (await new Created(machine()).make()).boot()));
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
  const [other, cold] = [await new Created(machine()).make('auto', 'beta'), await new Created(machine()).make('cold')];
  expect(await other.boots()).toMatchObject({ way: 'cold', why: 'no_template' });
  expect(await cold.boots()).toMatchObject({ way: 'cold', why: 'asked' });
  const wish = new Created(machine());
  await expect(wish.make('template', 'beta')).rejects.toMatchObject({ code: 'template_unavailable' });
  for (const sandbox of [other, cold, wish]) await sandbox.remove();
});

// Promise: a guest that cannot be renewed reaches nobody; who asked for it gets one that has booted. Costs a minute.
test('a wake that fails boots cold, in the same sandbox; after three none is tried', async () => {
  const { host } = machine();
  const broken = await makeTemplate(machine(), {
    after:
      "printf '#!/bin/sh\\necho no >&2\\nexit 1\\n' >/usr/bin/perl.new; chmod 755 /usr/bin/perl.new; mv /usr/bin/perl.new /usr/bin/perl",
  });
  const first = await (await new Created(machine()).make()).boot();
  expect(await first.boots()).toEqual({ way: 'cold', why: 'template_failed', templateId: null, ageSeconds: null });
  expect(await first.run("hostname; perl -e 'print 1'")).toBe(`${first.id}\n1`);
  await first.remove();
  for (let n = 0; n < 2; n++) {
    const wish = await new Created(machine()).make('template');
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
  const fourth = await new Created(machine()).make();
  expect(await fourth.boots()).toMatchObject({ way: 'cold', why: 'no_template' });
  await fourth.remove();
  await removeTemplate(machine(), broken);
});

test('memory, or a disk, that is not what was saved is not woken; a template that is removed stays for those that refer to it', async () => {
  const { host, state } = machine();
  for (const [n, file] of ['memory.save', 'vda.qcow2'].entries()) {
    const id = await makeTemplate(machine());
    const sandbox = n === 0 ? await new Created(machine()).make() : null;
    const path = join(state.snapshot(id), file);
    await flip(path);
    const created = await (sandbox ?? (await new Created(machine()).make())).boot();
    expect(await created.boots()).toMatchObject({ way: 'cold', why: n === 0 ? 'template_failed' : 'template_changed' });
    expect((await host.templates.uses()).find((one) => one.templateId === id)?.isReady).toBe(false);
    expect(await created.run('hostname')).toBe(created.id);
    await created.remove();
    await removeTemplate(machine(), id);
  }
  const id = await makeTemplate(machine());
  const living = await (await new Created(machine()).make()).boot();
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
