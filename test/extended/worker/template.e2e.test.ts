import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const mayfly = useServedOnLibvirt({ MAYFLY_TEMPLATES: 'on' });

async function made() {
  return eventually(
    async () => (await mayfly().client.templates.list()).items.find(({ state }) => state === 'ready'),
    (template) => template !== undefined,
  );
}

test('the first create boots, and later ones wake from the template built for it', async () => {
  const { client } = mayfly();
  const wish = { source: 'golden-debian12' };
  const first = await client.createSandbox(wish, WAIT);
  expect(first.boot).toEqual({ way: 'cold', why: 'no_template', templateId: null, ageSeconds: null });
  const template = await made();
  const woken = await client.createSandbox({ ...wish, boot: 'template' }, WAIT);
  expect(woken.boot).toMatchObject({ way: 'template', why: null, templateId: template.id });
  const said = await client.commands.run(woken.id, { command: 'hostname' }, WAIT);
  expect(JSON.stringify(said)).toContain(woken.id);
  const eight = await Promise.all(Array.from({ length: 8 }, () => client.createSandbox(wish, WAIT)));
  expect(new Set(eight.map(({ id, ssh }) => `${id} ${ssh?.hostKey} ${ssh?.address}`)).size).toBe(8);
  for (const { id, boot } of eight) expect([id, boot?.way]).toEqual([id, 'template']);
  await Promise.all(eight.map(({ id }) => client.destroySandbox(id, WAIT)));
  const booted = await client.createSandbox({ ...wish, boot: 'cold' }, WAIT);
  expect(booted.boot).toMatchObject({ way: 'cold', why: 'asked' });
  for (const { id } of [first, woken, booted]) await client.destroySandbox(id, WAIT);
  await client.templates.delete(template.id, WAIT);
  await expect(client.createSandbox({ ...wish, boot: 'template' }, WAIT)).rejects.toMatchObject({
    code: 'template_unavailable',
  });
});
