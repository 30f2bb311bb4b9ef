import { describe, expect } from 'vitest';
import { templateWorkflowIdOf } from '../../model/templates/template-saga.ts';
import { pairsOf } from '../support/sweep.ts';
import { useTemplateCases } from '../support/template-cases.ts';

const { test } = useTemplateCases();

/** The points of a build, and in which of its sandboxes; null: in none. How its sandboxes fail is what their own saga shows. */
const POINTS = [
  ['bootDomain.before', 'builder', 'startBuilder'],
  ...pairsOf(['settleTemplate', 'saveSnapshot', 'verifySnapshot', 'publishTemplate'], ['before', 'after']).map(
    ([step, where]) => [`${step}.${where}`, null, step] as const,
  ),
  ['verifySsh.before', 'probe', 'startProbes'],
  ['compareProbes.before', null, 'compareProbes'],
] as const;

describe.concurrent('a template', () => {
  test('is built once for all who want it, woken from, and goes when it is deleted', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    await Promise.all(Array.from({ length: 3 }, () => templates.want(input, ids.templateId)));
    const ready = await templates.until(ids.templateId, 'ready', 'failed');
    expect(ready).toMatchObject({ state: 'ready', reason: null, waitingFor: null, builderId: ids.builderId });
    expect(await templates.left(ids)).toEqual(['memory', 'index']);
    expect(await templates.all(input)).toHaveLength(1);

    const woken = await mayfly.create(mayfly.input({ ...templates.size, boot: 'template' }));
    expect(woken).toMatchObject({ state: 'running', boot: { way: 'template', why: null, templateId: ids.templateId } });

    await templates.remove(input, ids.templateId);
    await templates.over(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({ reason: 'It was deleted.' });
    expect(await templates.left(ids)).toEqual([]);
    expect(await mayfly.record(woken.id)).toMatchObject({ state: 'running' });
    expect(await templates.told()).toEqual(['template.building', 'template.ready', 'template.gone']);
    await mayfly.keepHistory('template', '', templateWorkflowIdOf(input));
  });

  test.for(POINTS)('that fails at %s leaves nothing', async ([point, of, step], { mayfly, templates }) => {
    const input = await templates.input({ rememberedMs: 600_000 });
    const ids = templates.ids();
    const at = of === 'builder' ? ids.builderId : of === 'probe' ? ids.probeIds[0] : ids.templateId;
    mayfly.arm(`${point}=error`, at ?? '');
    await templates.want(input, ids.templateId);
    const failed = await templates.until(ids.templateId, 'failed', 'ready');
    expect(failed).toMatchObject({ state: 'failed', reason: expect.stringContaining(`${step}: `) });
    expect(failed.retryAt).not.toBeNull();
    expect(await templates.left(ids)).toEqual([]);
    if (point === 'publishTemplate.after') await mayfly.keepHistory('template-failed', '', templateWorkflowIdOf(input));
  });

  test('undos that fail are repeated until they hold', async ({ mayfly, templates }) => {
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

  test('that is not ready refuses who wants nothing else, and leaves nothing', async ({ mayfly, templates }) => {
    const asked = mayfly.input({ ...templates.size, boot: 'template' });
    const refused = await mayfly.create({ ...asked, ...mayfly.proposals() });
    expect(refused).toMatchObject({ state: 'failed', failure: { code: 'template_unavailable', step: 'cloneDisk' } });
  });
});
