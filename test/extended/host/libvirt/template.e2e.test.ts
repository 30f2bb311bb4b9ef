import { chmod, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { Created, makeBrokenTemplate, makeTemplate, removeTemplate } from '../../../host/libvirt/created.ts';
import { stepContext } from '../../../host/libvirt/living-guest.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';

const machine = useMachine();

beforeAll(() => makeTemplate(machine()));

test('a create of another project, and a cold one, boots', async () => {
  const [other, cold] = [await new Created(machine()).make('auto', 'beta'), await new Created(machine()).make('cold')];
  expect(await other.boots()).toMatchObject({ way: 'cold', why: 'no_template' });
  expect(await cold.boots()).toMatchObject({ way: 'cold', why: 'asked' });
  const wish = new Created(machine());
  await expect(wish.make('template', 'beta')).rejects.toMatchObject({ code: 'template_unavailable' });
  for (const sandbox of [other, cold, wish]) await sandbox.remove();
});

test('a wake that fails boots cold, in the same sandbox; after three failures none is tried', async () => {
  const { host } = machine();
  const broken = await makeBrokenTemplate(machine());
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

test('changed memory or disks are not woken; a removed template stays for the sandboxes that refer to it', async () => {
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

/** Inverts a bit in the middle of a file. */
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
