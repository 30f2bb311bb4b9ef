// @module-tag full
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { BuildImage, Image } from '../../client/images.ts';
import { exec } from '../../host/os/exec.ts';
import { isImageOver } from '../../model/image/image.ts';
import { tarOf } from '../../model/image/tar.ts';
import { file } from '../support/root-trees.ts';
import { useServedOnLibvirt } from '../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const DOCKERFILE = `FROM debian:12
RUN dpkg --audit && apt-get check && cat /etc/os-release >/srv/release && dpkg -s systemd openssh-server >/dev/null
RUN test ! -e /.mayfly-root && systemctl is-active mayfly-agent ssh systemd-networkd && id sandbox && id node
CMD ["sh", "-c", "echo started by $(id -un) >/run/started"]
`;
const mayfly = useServedOnLibvirt();

/** As an image of Debian for containers has it: without kernel, systemd, sshd and agent; with a user 1000. */
async function debianRoot(): Promise<Buffer> {
  const path = join(tmpdir(), `mayfly-root-${process.pid}.tar`);
  const hook = `--customize-hook=chroot "$1" useradd --uid 1000 --create-home node; echo its own >"$1/own"`;
  const without = ['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  try {
    const argv = ['mmdebstrap', '--mode=root', '--variant=minbase', ...without, hook, 'bookworm', path];
    await exec('mmdebstrap', argv.slice(1), { timeoutMs: 600_000 });
    return await readFile(path);
  } finally {
    await rm(path, { force: true });
  }
}

async function built(name: string, wish: Partial<BuildImage>): Promise<Image> {
  const { images } = mayfly().client;
  const began = performance.now();
  const aliases = { 'debian:12': './root.tar.gz' };
  const { id } = await images.build({ name, dockerfile: DOCKERFILE, aliases, ...wish });
  const times = new Map<string, string>();
  for (const deadline = Date.now() + 1_200_000; Date.now() < deadline; await sleep(50)) {
    const image = await images.get(id);
    const at = `${image.state} ${image.done}`;
    if (!times.has(at)) times.set(at, `${((performance.now() - began) / 1_000).toFixed(1)} s`);
    if (!isImageOver(image.state)) continue;
    process.stderr.write(`${name}: ${JSON.stringify([...times])}\n`);
    return image;
  }
  throw new Error(`${name} is not over: ${JSON.stringify(await images.get(id))}`);
}

// Promise: a root of Debian packages that is no machine becomes one: it boots, a login is verified, its packages are whole. Costs minutes.
test('a root file system without kernel, systemd, sshd and agent becomes a source of virtual machines', async () => {
  const { client } = mayfly();
  const root = gzipSync(await debianRoot(), { level: 1 });
  const context = tarOf([file('root.tar.gz', root)]);
  const contextDigest = createHash('sha256').update(context).digest('hex');
  const body = new Blob([Buffer.from(context)]).stream();
  await client.images.sendContext(contextDigest, body);
  const image = await built('of-a-root', { contextDigest });
  expect(image).toMatchObject({ state: 'ready', failure: null, cached: 0, done: 4 });
  expect(await built('of-it-again', { contextDigest })).toMatchObject({ state: 'ready', cached: 4 });

  const { id } = await client.createSandbox({ source: 'of-a-root' }, WAIT);
  const look =
    'cat /own; . /srv/release; echo $VERSION_CODENAME; cat /run/started; test -d /lib/modules/$(uname -r) && sudo modprobe loop && id -un; hostname';
  const said = await client.commands.run(id, { command: look }, WAIT);
  const text = await new Response(await client.commands.output(id, said.id, 'stdout')).text();
  expect(text).toBe(`its own\nbookworm\nstarted by root\nsandbox\n${id}\n`);
  await client.destroySandbox(id, WAIT);
}, 3_600_000);
