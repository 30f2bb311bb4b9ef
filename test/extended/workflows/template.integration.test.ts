import { describe, expect } from 'vitest';
import { newTemplate, templateWorkflowId } from '../../../model/templates/template-saga.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { GOLDEN } from '../../support/in-memory-host/machine.ts';
import { loseWorkflow } from '../../support/lose-workflow.ts';
import { sweepOn } from '../../support/sweep.ts';
import { useTemplateCases } from '../../support/template-cases.ts';

const { test, mayfly: all } = useTemplateCases();
const sweep = sweepOn(test);

describe.concurrent('a template', () => {
  test('is rebuilt only on demand, and with backoff after each failure', async ({ mayfly, templates }) => {
    const input = await templates.input({ firstRetryMs: 300, longestRetryMs: 600, rememberedMs: 600_000 });
    const waits: number[] = [];
    for (let n = 0; n < 3; n++) {
      const ids = templates.ids();
      mayfly.arm('settleTemplate.before=error', ids.templateId);
      await templates.want(input, ids.templateId);
      const { updatedAt, retryAt, createdAt } = await templates.until(ids.templateId, 'failed', 'ready');
      const [, before] = await templates.all(input);
      expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(Date.parse(before?.updatedAt ?? createdAt));
      waits.push(Date.parse(retryAt ?? '') - Date.parse(updatedAt));
    }
    expect(waits).toEqual([300, 600, 600]);
    expect((await templates.all(input)).map(({ state }) => state)).toEqual(['failed', 'gone', 'gone']);
    await templates.built(input);
  });

  test('without demand is dropped: its failed record stays, and no workflow', async ({ mayfly, templates }) => {
    const input = await templates.input({ rememberedMs: 0 });
    const ids = templates.ids();
    mayfly.arm('settleTemplate.before=error', ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.over(input);
    expect(await templates.until(ids.templateId, 'failed')).toMatchObject({ source: GOLDEN });
  });

  sweep(['settleTemplate', 'verifySnapshot', 'publishTemplate'])(
    'that is deleted at %s leaves no residue',
    async (step, { mayfly, templates }) => {
      const input = await templates.input();
      const ids = templates.ids();
      mayfly.arm(`${step}.before=hang`, ids.templateId);
      await templates.want(input, ids.templateId);
      await templates.at(input, step);
      await templates.remove(input, ids.templateId);
      expect(await templates.until(ids.templateId, 'gone')).toMatchObject({
        reason: 'It was deleted while it was built.',
      });
      expect(await templates.left(ids)).toEqual([]);
      await templates.over(input);
    },
  );

  test('that has failed is removed by a delete', async ({ mayfly, templates }) => {
    const input = await templates.input({ rememberedMs: 600_000 });
    const ids = templates.ids();
    mayfly.arm('settleTemplate.before=error', ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.until(ids.templateId, 'failed');
    await templates.remove(input, ids.templateId);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({ retryAt: null });
  });

  test('that its host can no longer wake from is removed, and the next is built on demand', async ({ templates }) => {
    const input = await templates.input({ rememberedMs: 600_000 });
    const ids = await templates.built(input);
    templates.change(ids.templateId, { isReady: false, failuresInARow: 3, lastFailure: 'Its guest is mute.' });
    await templates.look(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({
      reason: 'Its host does not wake from it any more. Its guest is mute.',
    });
    expect(await templates.left(ids)).toEqual([]);
    expect(await templates.all(input)).toHaveLength(1);
    await templates.built(input);
  });

  test('is removed, and not rebuilt, when its source has changed', async ({ templates }) => {
    const input = await templates.input({}, templates.ownSource());
    const ids = await templates.built(input);
    templates.changeSource(input.source);
    await templates.look(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({
      reason: 'What it is made of has changed.',
    });
    await templates.over(input);
    const other = templates.ids();
    await templates.want({ ...input, times: { ...input.times, rememberedMs: 0 } }, other.templateId);
    expect(await templates.until(other.templateId, 'failed', 'ready')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('has changed since'),
    });
  });

  test('that is old or often used is replaced before its removal', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = await templates.built(input);
    templates.change(ids.templateId, { wakes: 1_000, lastUsedAt: new Date().toISOString() });
    await templates.look(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({ wakes: 1_000 });
    const [next] = await templates.all(input);
    expect(next).toMatchObject({ state: 'ready', wakes: 0, lastUsedAt: expect.any(String) });
    const woken = await mayfly.create(mayfly.input({ ...templates.size, boot: 'template' }));
    expect(woken.boot).toMatchObject({ templateId: next?.id });
  });

  test('that is old is removed even if its replacement fails', async ({ mayfly, templates }) => {
    const input = await templates.input({ rememberedMs: 600_000 });
    const ids = await templates.built(input);
    const next = templates.ids();
    templates.change(ids.templateId, { wakes: 1_000, lastUsedAt: new Date().toISOString() });
    mayfly.arm('settleTemplate.before=error', next.templateId);
    await templates.want(input, next.templateId); // which wakes its workflow
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({ wakes: 1_000 });
    expect(await templates.left(ids)).toEqual([]);
    expect(await templates.until(next.templateId, 'failed')).toMatchObject({ wakes: 0 });
  });

  test('without use for long is removed, even if it was replaced', async ({ templates }) => {
    const input = await templates.input({ unusedMs: 5_000, oldMs: 1_000, lookMs: 100 });
    await templates.want(input, templates.ids().templateId);
    await templates.over(input);
    const all = await templates.all(input);
    expect(all.length).toBeGreaterThan(1);
    expect(all.map(({ state }) => state)).toEqual(all.map(() => 'gone'));
    expect(all[0]).toMatchObject({ reason: 'Nobody has woken from it for long.', lastUsedAt: null });
    for (const { id } of all) expect(await templates.left(templates.ids(id))).toEqual([]);
  });

  test('refuses logins to its builder, and its use', async ({ mayfly, operations, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    mayfly.arm('settleTemplate.before=1*delay(3000)', ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.at(input, 'settleTemplate');
    expect(await mayfly.record(ids.builderId)).toMatchObject({ state: 'creating', ssh: null });
    expect(mayfly.memory?.leases.has(ids.builderId)).toBe(false);
    await expect(operations.beginSnapshot(ids.builderId)).rejects.toMatchObject({ code: 'sandbox_not_running' });
    await templates.until(ids.templateId, 'ready');
    const builder = await mayfly.record(ids.builderId);
    expect(builder).toMatchObject({ state: 'destroyed', proof: expect.anything() });
  });

  test('whose builder is deleted fails, and leaves no residue', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    mayfly.arm('settleTemplate.before=1*delay(5000)', ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.at(input, 'settleTemplate');
    await mayfly.destroy(ids.builderId);
    expect(await templates.until(ids.templateId, 'failed', 'ready')).toMatchObject({ state: 'failed' });
    expect(await templates.left(ids)).toEqual([]);
  });

  test('is not used for cold boots, or for sandboxes of a snapshot', async ({ mayfly, operations, templates }) => {
    const input = await templates.input();
    await templates.built(input);
    const cold = await mayfly.create(mayfly.input({ ...templates.size, boot: 'cold' }));
    expect(cold.boot).toEqual({ way: 'cold', why: 'asked', templateId: null, ageSeconds: null });
    const { id: snapshotId } = await operations.snapshot(cold.id);
    const fork = await mayfly.create(mayfly.input({ ...templates.size, snapshotId }));
    expect(fork.boot).toMatchObject({ way: 'cold', why: 'origin' });
    const other = await mayfly.create({
      ...mayfly.input(templates.size),
      createdBy: { apiKeyId: 'b', agentId: null, project: 'other' },
    });
    expect(other).toMatchObject({ project: 'other', boot: { way: 'cold', why: 'no_template' } });
    await templates.forget({ ...templates.subject, project: 'other' });
  });
});

describe('a template, without concurrent work,', () => {
  const PLACES = ['settleTemplate', 'saveSnapshot', 'verifySnapshot', 'publishTemplate'] as const;

  test('is built once for 20 sandboxes that booted cold without one', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const asked = Array.from({ length: 20 }, () => mayfly.input({ ...templates.size, boot: 'auto' }));
    const made = await Promise.all(asked.map((one) => mayfly.create({ ...one, ...mayfly.proposals() })));
    for (const { boot } of made) expect(boot).toMatchObject({ way: 'cold', why: 'no_template' });
    const id = await templates.begun(input);
    expect(await templates.until(id, 'ready', 'failed')).toMatchObject({ state: 'ready' });
    expect(await templates.all(input)).toHaveLength(1);
    const next = await mayfly.create(mayfly.input({ ...templates.size }));
    expect(next.boot).toMatchObject({ way: 'template', templateId: id });
  });

  test('is built after the creates in progress', async ({ mayfly, templates }) => {
    const slow = mayfly.input({ boot: 'cold' });
    mayfly.arm('cloneDisk.before=hang', slow.id);
    await mayfly.sagas.sandboxes.create({ ...slow, ...mayfly.proposals() });
    const input = await templates.input({ quietMs: 600_000 });
    const ids = templates.ids();
    await templates.want(input, ids.templateId);
    const waiting = await templates.until(ids.templateId, 'building');
    expect(waiting.waitingFor).toContain('creates');
    await templates.looksOften(input);
    expect(await mayfly.store.sandboxes.get(ids.builderId)).toBeNull();
    mayfly.arm(undefined, slow.id);
    await mayfly.destroy(slow.id);
    await templates.until(ids.templateId, 'ready');
  });

  sweep(PLACES)('continues when the control worker restarts at %s', async (step, { mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    mayfly.arm(`${step}.before=1*delay(2000)`, ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.at(input, step);
    await all().startControl();
    expect(await templates.until(ids.templateId, 'ready', 'failed')).toMatchObject({ state: 'ready' });
    expect(await templates.left(ids)).toEqual(['memory', 'index']);
  });

  sweep(PLACES)('continues, or is removed, when its host restarts at %s', async (step, { mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    mayfly.arm(`${step}.after=1*hang`, ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.at(input, step);
    await all().host?.stop();
    await all().startHost();
    const { state } = await templates.until(ids.templateId, 'ready', 'failed'); // when it returns too late
    expect(await templates.left(ids)).toEqual(state === 'ready' ? ['memory', 'index'] : []);
    if (state === 'failed') await templates.built(input);
  });

  sweep(PLACES)('whose workflow is lost at %s is removed by its successor', async (step, { mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    mayfly.arm(`${step}.after=1*hang`, ids.templateId);
    await templates.want(input, ids.templateId);
    await templates.at(input, step);
    await loseWorkflow(mayfly.client, templateWorkflowId(input));
    mayfly.disarm();
    await templates.reconcile();
    await templates.over(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({
      reason: 'The workflow that worked on it was lost.',
    });
    expect(await templates.left(ids)).toEqual([]);
  });

  test('that is ready survives the loss of its workflow', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = await templates.built(input);
    await loseWorkflow(mayfly.client, templateWorkflowId(input));
    await templates.reconcile();
    await templates.look(input);
    expect(await templates.until(ids.templateId, 'ready')).toMatchObject({ reason: null });
    expect(await templates.left(ids)).toEqual(['memory', 'index']);
  });

  test('that is ready continues in the next run, and so does the demand for another', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const ids = await templates.built(input);
    const ready = await templates.until(ids.templateId, 'ready');
    await mayfly.client.workflow.getHandle(templateWorkflowId(input)).terminate('another run goes on');
    const handedOver = { ready, failed: null, failures: 0, retryAt: 0, wanted: null, usedAt: null, subscribers: [] };
    await new ControlTemporalClient(mayfly.client).templates.resume({ ...input, continued: handedOver });
    await templates.remove(input, ids.templateId);
    await templates.over(input);
    expect(await templates.left(ids)).toEqual([]);
    const next = templates.ids();
    const wanted = { templateId: next.templateId, installationId: input.installationId ?? null };
    await new ControlTemporalClient(mayfly.client).templates.resume({
      ...input,
      continued: { ...handedOver, ready: null, wanted },
    });
    expect(await templates.until(next.templateId, 'ready', 'failed')).toMatchObject({ state: 'ready' });
  });

  test('of a replaced installation is abandoned, and the next builds its own', async ({ mayfly, templates }) => {
    const input = await templates.input();
    const before = { ...input, installationId: 'ins-0123456789abcdef01234567' };
    const ids = templates.ids();
    await mayfly.store.templates.put({ ...newTemplate(before, ids, new Date().toISOString()), state: 'ready' });
    await new ControlTemporalClient(mayfly.client).templates.resume(before);
    const { templateId } = await templates.built(input);
    expect(await templates.until(ids.templateId, 'gone')).toMatchObject({
      reason: expect.stringContaining('nobody has looked'),
    });
    expect(await mayfly.store.templates.get(templateId)).toMatchObject({ installationId: input.installationId });
  });
});
