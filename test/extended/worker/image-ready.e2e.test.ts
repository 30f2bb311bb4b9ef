import { expect, test } from 'vitest';
import type { Image } from '../../../clients/typescript/http/openapi.ts';
import { builtImage } from '../../support/built-image.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const DOCKERFILE = `FROM golden-debian12
RUN mkdir /srv/app
WORKDIR /srv/app
CMD ["sh", "-c", "sleep 3; echo started >begun; exec sleep infinity"]
`;
const mayfly = useServedOnLibvirt({ MAYFLY_TEMPLATES: 'on' });

async function built(name: string, ready: string, readySeconds: number): Promise<Image> {
  const wish = { name, dockerfile: DOCKERFILE, ready, readySeconds };
  return (await builtImage(mayfly().client.images, wish)).image;
}

test('an image becomes a source when --ready succeeds in a virtual machine of it, and wakes from its template', async () => {
  const { client } = mayfly();
  const never = await built('never-ready', 'echo it is why; exit 9', 1);
  expect(never).toMatchObject({ state: 'failed', failure: { exitCode: 9, log: expect.stringContaining('it is why') } });
  expect((await client.listSources()).items.map(({ name }) => name)).not.toContain('never-ready');

  const image = await built('is-ready', 'grep started /srv/app/begun', 120);
  expect(image).toMatchObject({ state: 'ready', failure: null });
  expect(image.cached).toBeGreaterThan(0);
  const { items } = await client.templates.list();
  const template = items.find(({ source }) => source === 'is-ready');
  expect(template).toMatchObject({ state: 'ready' });

  const woken = await client.createSandbox({ source: 'is-ready', boot: 'template' }, WAIT);
  expect(woken.boot).toMatchObject({ way: 'template', templateId: template?.id });
  const said = await client.commands.run(woken.id, { command: 'cat /srv/app/begun; pgrep -c sleep; hostname' }, WAIT);
  const out = await new Response(await client.commands.output(woken.id, said.id, 'stdout')).text();
  expect(out).toBe(`started\n1\n${woken.id}\n`);
  await client.destroySandbox(woken.id, WAIT);
}, 1_800_000);
