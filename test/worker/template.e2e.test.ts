// @module-tag full
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useServedOnLibvirt } from '../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const mayfly = useServedOnLibvirt({ MAYFLY_TEMPLATES: 'on' });

async function made() {
  for (const deadline = Date.now() + 240_000; ; await sleep(200)) {
    const { items } = await mayfly().client.templates.list();
    const ready = items.find(({ state }) => state === 'ready');
    if (ready) return ready;
    if (Date.now() > deadline) throw new Error(`no template is ready: ${JSON.stringify(items)}`);
  }
}

// Promise: the first create boots and has a template built, the next wake from it; nothing is left. Costs two minutes.
test('the first create boots, and the next wake from the template that it has had built', async () => {
  const { client } = mayfly();
  const wish = { source: 'golden-debian12' };
  const first = await client.createSandbox(wish, WAIT);
  expect(first.boot).toEqual({ way: 'cold', why: 'no_template', templateId: null, ageSeconds: null });
  const template = await made();
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
  const cold = performance.now();
  const booted = await client.createSandbox({ ...wish, boot: 'cold' }, WAIT);
  process.stderr.write(`cold ${(performance.now() - cold).toFixed(0)} ms\n`);
  expect(booted.boot).toMatchObject({ way: 'cold', why: 'asked' });
  for (const { id } of [first, booted]) await client.destroySandbox(id, WAIT);
  await client.templates.delete(template.id, WAIT);
  await expect(client.createSandbox({ ...wish, boot: 'template' }, WAIT)).rejects.toMatchObject({
    code: 'template_unavailable',
  });
});
