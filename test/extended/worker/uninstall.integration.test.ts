import { access, chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { EXIT } from '../../../cli/terminal/cli-error.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { endPrivateLibvirtd } from '../../../host/libvirt/network/private-libvirtd.ts';
import { exec } from '../../../host/os/exec.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { MayflyProcess } from '../../support/mayfly-process.ts';
import { ownServersEnv, withUp } from '../../support/with-up.ts';

/**
 * Promise: all that set-up and `up` made on a machine is listed, and removed on confirmation, but no sandbox without
 * its proof.
 */
const closers = new Closers();
afterEach(() => closers.close());

const told = z.object({ removed: z.boolean(), sandboxes: z.array(z.string()), items: z.array(z.string()) });

async function installation(hostKind: 'simulated' | 'libvirt') {
  const { state, remove } = await temporaryState();
  const { state: caches, remove: removeCaches } = await temporaryState();
  closers.add('folders', async () => void (await Promise.all([remove(), removeCaches()])));
  closers.add('libvirtd', () => endPrivateLibvirtd(join(state.root, 'libvirt')));
  const cache = join(caches.root, 'mayfly');
  await chmod(state.root, 0o711); // QEMU runs as another user
  await mkdir(cache);
  const env = { ...ownServersEnv(state.root, hostKind), MAYFLY_LIBVIRT_URI: 'private' };
  return {
    state,
    cache,
    up: (use: (client: MayflyClient) => Promise<void>): Promise<void> => withUp(env, use),
    uninstall: async (...args: string[]) => {
      const process = new MayflyProcess(['uninstall', '--json', ...args], { ...env, XDG_CACHE_HOME: caches.root });
      const code = await process.end();
      return { code, output: process.output };
    },
  };
}

test('a simulated host is removed after its sandboxes', async () => {
  const { state, cache, up, uninstall } = await installation('simulated');
  let id = '';
  await up(async (client) => {
    ({ id } = await client.createSandbox({ source: 'golden-debian12' }, { waitSeconds: 60 }));
    const { code, output } = await uninstall();
    expect([code, output]).toEqual([EXIT.unavailable, expect.stringContaining('"what":"Mayfly runs here"')]);
  });
  const listed = told.parse(JSON.parse((await uninstall()).output));
  expect(listed).toMatchObject({ removed: false, sandboxes: [id] });
  expect(listed.items.join('\n')).toContain(state.root);
  expect(await uninstall('--yes')).toMatchObject({ code: EXIT.failed, output: expect.stringContaining(id) });
  await up(async (client) => void (await client.destroySandbox(id, { waitSeconds: 60 })));
  const { code, output } = await uninstall('--yes');
  expect(code).toBe(0);
  expect(told.parse(JSON.parse(output))).toMatchObject({ removed: true, sandboxes: [] });
  for (const folder of [state.root, cache]) await expect(access(folder)).rejects.toThrow('ENOENT');
  expect(told.parse(JSON.parse((await uninstall()).output)).items).toEqual([expect.stringContaining(cache)]);
});

test('a private libvirtd is removed with its networks and rules', async () => {
  const { state, up, uninstall } = await installation('libvirt');
  await up(async () => {});
  expect(await readdir('/sys/class/net')).toContain('mayfly0');
  expect(await uninstall('--yes')).toMatchObject({ code: EXIT.ok, output: expect.stringContaining('"removed":true') });
  await expect(access(state.root)).rejects.toThrow('ENOENT');
  expect(await readdir('/sys/class/net')).not.toContain('mayfly0');
  expect((await exec('nft', ['list', 'tables'])).stdout).not.toContain('mayfly');
});
