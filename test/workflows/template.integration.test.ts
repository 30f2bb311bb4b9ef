import { describe, expect } from 'vitest';
import { pairsOf } from '../support/sweep.ts';
import { useTemplateCases } from '../support/template-cases.ts';

const { test } = useTemplateCases();

describe.concurrent('a template', () => {
  test('is built once for concurrent requests, woken from, and removed when it is deleted', async ({
    mayfly,
    templates,
  }) => {
    const input = await templates.input();
    const ids = templates.ids();
    await Promise.all(Array.from({ length: 3 }, () => templates.want(input, ids.templateId)));
    const ready = await templates.until(ids.templateId, 'ready', 'failed');
    expect(ready).toMatchObject({ state: 'ready', reason: null, waitingFor: null, builderId: ids.builderId });
    expect(await templates.left(ids)).toEqual(['memory', 'index']);
    expect(await templates.all(input)).toHaveLength(1);

    const woken = await mayfly.create(mayfly.input({ ...templates.size, boot: 'template' }));
    expect(woken).toMatchObject({ state: 'running', boot: { way: 'template', why: null, templateId: ids.templateId } });

    const asked = mayfly.input({ ...templates.size, boot: 'template' });
    const missed = await mayfly.create({ ...asked, missed: 'pool_empty' });
    expect(missed.boot).toMatchObject({ way: 'template', why: 'pool_empty', templateId: ids.templateId });

    await templates.remove(input, ids.templateId);
    await templates.over(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({ reason: 'It was deleted.' });
    expect(await templates.left(ids)).toEqual([]);
    expect(await mayfly.record(woken.id)).toMatchObject({ state: 'running' });
    expect(await templates.told()).toEqual(['template.building', 'template.ready', 'template.gone']);
  });

  test('failed compensations are retried until they succeed', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    const undos = pairsOf(['retireTemplate', 'removeSnapshot'], ['before', 'during', 'after']);
    const faults = undos.map(([undo, where]) => `${undo}.${where}=1*error`);
    mayfly.arm(['publishTemplate.after=error', ...faults].join(';'), ids.templateId);
    await templates.want(input, ids.templateId);
    expect(await templates.until(ids.templateId, 'failed', 'ready')).toMatchObject({
      state: 'failed',
      waitingFor: null,
    });
    expect(await templates.left(ids)).toEqual([]);
  });

  test('that is not ready refuses a create that requires it, without residue', async ({ mayfly, templates }) => {
    const asked = mayfly.input({ ...templates.size, boot: 'template' });
    const refused = await mayfly.create({ ...asked, ...mayfly.proposals() });
    expect(refused).toMatchObject({ state: 'failed', failure: { code: 'template_unavailable', step: 'cloneDisk' } });
  });
});
