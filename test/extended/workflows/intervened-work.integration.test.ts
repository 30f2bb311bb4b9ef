import { describe, expect } from 'vitest';
import { poolWorkflowId } from '../../../model/pools/pool-saga.ts';
import { templateWorkflowId } from '../../../model/templates/template-saga.ts';
import { CapturedSource } from '../../support/captured-source.ts';
import { eventually } from '../../support/eventually.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { TestPool } from '../../support/pool.ts';
import { stepBegun } from '../../support/step-begun.ts';
import { sweepOn } from '../../support/sweep.ts';
import { useTemplateCases } from '../../support/template-cases.ts';

/** Promise: captures, templates and pools end in order after any operator action in Temporal, without residue. */
const { test } = useTemplateCases();
const sweep = sweepOn(test);

sweep(INTERVENTIONS)('a capture that copies, %s', async (kind, { mayfly, templates }) => {
  const { memory } = mayfly;
  const source = new CapturedSource(mayfly);
  memory?.images.set(source.name, { files: new Map(), isRunning: true, baked: null });
  const id = source.newId();
  mayfly.arm('awaitCapture.before=1*hang', id);
  await source.begin('create', id);
  await stepBegun(mayfly.client.workflow.getHandle(source.workflowId), 'awaitCapture');
  await intervene(mayfly.client, source.workflowId, kind);
  if (kind.startsWith('cancel')) {
    const failure = { code: 'workflow_cancelled', step: 'awaitCapture' };
    expect(await source.ended(id)).toMatchObject({ state: 'failed', failure });
  }
  if (kind === 'terminate') {
    await templates.reconcile();
    await eventually(() => source.recordOf(id), { state: 'deleted' });
  }
  if (kind.startsWith('reset')) expect(await source.ended(id)).toMatchObject({ state: 'ready' });
  await source.clear();
  memory?.images.delete(source.name);
});

describe('a template', () => {
  sweep(INTERVENTIONS)('that is built, then %s', async (kind, { mayfly, templates }) => {
    const input = await templates.input();
    const ids = templates.ids();
    mayfly.arm('saveSnapshot.before=1*hang', ids.builderId);
    await templates.want(input, ids.templateId);
    await templates.at(input, 'saveSnapshot');
    await intervene(mayfly.client, templateWorkflowId(input), kind);
    if (kind === 'terminate') await templates.reconcile();
    if (kind.startsWith('cancel')) await templates.over(input);
    const record = await templates.until(ids.templateId, 'gone', 'failed', 'ready');
    if (kind.startsWith('cancel')) expect(record.reason).toBe('Its workflow was cancelled.');
    await templates.remove(input, ids.templateId); // A reset workflow may have started a second build.
    await eventually(() => templates.left(ids), { length: 0 });
  });

  sweep(INTERVENTIONS)('that is ready, then %s', async (kind, { mayfly, templates }) => {
    const input = await templates.input();
    const ids = await templates.built(input);
    await intervene(mayfly.client, templateWorkflowId(input), kind);
    if (kind === 'terminate') await templates.reconcile();
    if (!kind.startsWith('reset')) {
      await templates.over(input);
      expect(await templates.until(ids.templateId, 'gone')).toMatchObject({ reason: 'Its workflow was cancelled.' });
      expect(await templates.left(ids)).toEqual([]);
      return;
    }
    expect(await templates.until(ids.templateId, 'ready', 'gone')).toMatchObject({ state: 'ready' });
    await templates.remove(input, ids.templateId);
    await templates.until(ids.templateId, 'gone');
    expect(await templates.left(ids)).toEqual([]);
  });
});

sweep(INTERVENTIONS)('a pool, %s', async (kind, { mayfly, templates }) => {
  if (mayfly.memory) mayfly.memory.makesTemplates = false; // Members would have a template made for their project.
  const pool = await TestPool.in(mayfly);
  await pool.set({ min: 2, max: 2 });
  const members = await pool.warm(2);
  await intervene(mayfly.client, poolWorkflowId(pool), kind);
  if (kind === 'terminate') await templates.reconcile();
  if (!kind.startsWith('reset')) {
    await mayfly.client.workflow.getHandle(poolWorkflowId(pool)).result();
    expect(await mayfly.store.pools.get(pool)).toBeNull();
  } else {
    expect(await pool.warm(2)).toHaveLength(2);
    await pool.end();
  }
  for (const { id } of members) {
    const record = await mayfly.record(id);
    expect(record).toMatchObject({ state: 'destroyed', stopReason: 'retired' });
    expectProof(record);
  }
});
