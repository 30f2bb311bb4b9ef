import { describe, expect } from 'vitest';
import { useSagaCases } from '../support/saga-cases.ts';
import { TestTemplates } from '../support/templates.ts';

const { alone } = useSagaCases({ kind: 'in-memory' });

const test = alone.extend<{ templates: TestTemplates }>({
  templates: async ({ mayfly }, use) => {
    if (mayfly.memory) mayfly.memory.makesTemplates = true;
    await use(new TestTemplates(mayfly));
  },
});

describe.concurrent('a template', () => {
  test('is built once for all who want it, woken from, and goes when it is deleted', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    await Promise.all(Array.from({ length: 20 }, () => templates.want(input, ids.templateId)));
    const ready = await templates.until(ids.templateId, 'ready', 'failed');
    expect(ready).toMatchObject({ state: 'ready', reason: null, waitingFor: null, builderId: ids.builderId });
    expect(await templates.left(ids)).toEqual(['memory', 'index']);
    expect(await templates.all(input)).toHaveLength(1);

    const { memoryMib } = templates.subject;
    const woken = await mayfly.create(mayfly.input({ memoryMib, boot: 'template' }));
    expect(woken).toMatchObject({ state: 'running', boot: { way: 'template', why: null, templateId: ids.templateId } });

    await templates.remove(input, ids.templateId);
    await templates.until(ids.templateId, 'gone');
    await templates.over(input);
    expect(await templates.left(ids)).toEqual([]);
    expect(await mayfly.record(woken.id)).toMatchObject({ state: 'running' });
    expect(await templates.told()).toEqual(['template.building', 'template.ready', 'template.gone']);
  });
});
