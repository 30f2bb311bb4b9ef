import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Image } from '../../../clients/typescript/http/openapi.ts';
import { buildTar } from '../../../model/image/tar.ts';
import { builtImage } from '../../support/built-image.ts';
import { debianRoot } from '../../support/debian-root.ts';
import { file } from '../../support/root-trees.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const DOCKERFILE = `FROM debian:12
RUN dpkg --audit && apt-get check && cat /etc/os-release >/srv/release && dpkg -s systemd openssh-server >/dev/null
RUN test ! -e /.mayfly-root && id sandbox && id node
CMD ["sh", "-c", "echo started by $(id -un) >/run/started"]
`;
const mayfly = useServedOnLibvirt();

async function built(name: string, contextDigest: string): Promise<Image> {
  const wish = { name, dockerfile: DOCKERFILE, aliases: { 'debian:12': './root.tar.gz' }, contextDigest };
  return (await builtImage(mayfly().client.images, wish)).image;
}

test('a root file system without kernel, systemd, sshd and agent becomes a source of virtual machines', async () => {
  const { client } = mayfly();
  const root = gzipSync(await debianRoot(900_000), { level: 1 });
  const context = buildTar([file('root.tar.gz', root)]);
  const contextDigest = createHash('sha256').update(context).digest('hex');
  const body = new Blob([Buffer.from(context)]).stream();
  await client.images.sendContext(contextDigest, body);
  const image = await built('of-a-root', contextDigest);
  expect(image).toMatchObject({ state: 'ready', failure: null, cached: 0, done: 4 });
  expect(await built('of-it-again', contextDigest)).toMatchObject({ state: 'ready', cached: 4 });

  const { id } = await client.createSandbox({ source: 'of-a-root' }, WAIT);
  const look =
    'until test -e /run/started; do sleep 0.2; done; cat /own; . /srv/release; echo $VERSION_CODENAME; cat /run/started; test -d /lib/modules/$(uname -r) && sudo modprobe loop && id -un; hostname';
  const said = await client.commands.run(id, { command: look }, WAIT);
  const text = await new Response(await client.commands.output(id, said.id, 'stdout')).text();
  expect(text).toBe(`its own\nbookworm\nstarted by root\nsandbox\n${id}\n`);
  await client.destroySandbox(id, WAIT);
}, 3_600_000);
