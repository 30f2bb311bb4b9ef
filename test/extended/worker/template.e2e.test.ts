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

/** Figures for docs/performance.md, where they are kept with their conditions. */
function say(what: string, ms: number): void {
  process.stderr.write(`${what}: ${ms.toFixed(0)} ms\n`);
}

// Promise: the first create boots and has a template built, the next wake from it; nothing is left. Costs two minutes.
test('the first create boots, and the next wake from the template that it has had built', async () => {
  const { client } = mayfly();
  const wish = { source: 'golden-debian12' };
  const first = await client.createSandbox(wish, WAIT);
  expect(first.boot).toEqual({ way: 'cold', why: 'no_template', templateId: null, ageSeconds: null });
  const asked = performance.now();
  const template = await made();
  say('a template, from the end of the create that asked for it until it is ready', performance.now() - asked);
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const began = performance.now();
    const woken = await client.createSandbox({ ...wish, ...(n === 0 && { boot: 'template' as const }) }, WAIT);
    times.push(performance.now() - began);
    expect(woken.boot).toMatchObject({ way: 'template', why: null, templateId: template.id });
    const said = await client.commands.run(woken.id, { command: 'hostname' }, WAIT);
    expect(JSON.stringify(said)).toContain(woken.id);
    process.stderr.write(
      `create from a template ${times.at(-1)?.toFixed(0)} ms, first exec included ${(performance.now() - began).toFixed(0)} ms ${JSON.stringify(woken.steps)}\n`,
    );
    await client.destroySandbox(woken.id, WAIT);
  }
  const atOnce = performance.now();
  const eight = await Promise.all(
    Array.from({ length: 8 }, () => client.createSandbox({ ...wish, boot: 'template' }, WAIT)),
  );
  say('eight creates from a template at once', performance.now() - atOnce);
  expect(new Set(eight.map(({ id, ssh }) => `${id} ${ssh?.hostKey} ${ssh?.address}`)).size).toBe(8);
  for (const { id, boot } of eight) expect([id, boot?.way]).toEqual([id, 'template']);
  await Promise.all(eight.map(({ id }) => client.destroySandbox(id, WAIT)));
  const cold = performance.now();
  const booted = await client.createSandbox({ ...wish, boot: 'cold' }, WAIT);
  say('a cold create', performance.now() - cold);
  expect(booted.boot).toMatchObject({ way: 'cold', why: 'asked' });
  for (const { id } of [first, booted]) await client.destroySandbox(id, WAIT);
  await client.templates.delete(template.id, WAIT);
  await expect(client.createSandbox({ ...wish, boot: 'template' }, WAIT)).rejects.toMatchObject({
    code: 'template_unavailable',
  });
});
