import { expect } from 'vitest';
import { RECONCILE_WORKFLOW } from '../../../model/sagas/reconcile.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { templateRecord } from '../../store/project-records.ts';
import { eventually } from '../../support/eventually.ts';
import { GRACE_MS, useReconcileCases } from '../../support/reconcile-cases.ts';
import { HANGS_AFTER_MS } from '../../support/test-timeouts.ts';

const { alone, mayfly: all, reconcile, loseSaga, deleteRecord, listKinds, awaitAdoption } = useReconcileCases();

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

/** Repeats rounds until a condition holds: Temporal's list of workflows lags behind. */
async function reconcileUntil(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await reconcile();
}

alone('an operation was under way: its machine is brought to what the record says', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  mayfly.memory?.domains.set(input.id, 'paused');
  await reconcile();
  await awaitAdoption(input.id);
  await mayfly.until(input.id, () => mayfly.memory?.domains.get(input.id) === 'running');
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
});

alone('the store is set back: what lives writes its record again, and its end is proved', async ({ mayfly }) => {
  const input = mayfly.input();
  const { createdAt } = await mayfly.create(input);
  await mayfly.store.sandboxes.put({ ...(await mayfly.record(input.id)), state: 'requested', hostId: null });
  await all().sagas.sandboxes.restoreRecord(input.id);
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running', hostId: 'test', createdAt });
  await deleteRecord(input.id);
  await reconcileUntil(async () => (await mayfly.store.sandboxes.get(input.id)) !== null);
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running', hostId: 'test', createdAt });
  expect(await listKinds(input.id)).toContain('sandbox.record-restored');
  await deleteRecord(input.id);
  const ended = await mayfly.destroy(input);
  expect(ended).toMatchObject({ state: 'destroyed', hostId: 'test' });
  expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
});

alone('a record that names no host, and no saga: the host is found by looking', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  const unplaced = { state: 'requested', hostId: null, installationId: null, askedHosts: [] } as const;
  await mayfly.store.sandboxes.put({ ...(await mayfly.record(input.id)), ...unplaced, askedHosts: [] });
  await reconcile();
  const lost = await mayfly.end(input.id);
  expect(lost).toMatchObject({ state: 'failed', hostId: 'test', failure: { code: 'sandbox_lost' } });
  expect(await mayfly.residue()).toEqual([]);
});

alone('what is on a host and in no record is destroyed after the grace time, and proved', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  await deleteRecord(input.id);
  await reconcile();
  const ended = await mayfly.end(input.id);
  expect(ended).toMatchObject({ state: 'failed', hostId: 'test', failure: { code: 'sandbox_lost' } });
  expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
  expect(await mayfly.residue()).toEqual([]);
  const { store } = mayfly;
  expect((await store.reconciled.counts()).get('orphan-destroyed')).toBeGreaterThan(0);
});

alone('what was left of one that has ended goes too, and it stays what it was', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  const { proof } = await mayfly.destroy(input);
  mayfly.memory?.domains.set(input.id, 'running');
  await reconcile();
  const ended = await mayfly.until(
    input.id,
    (record) => record.state === 'destroyed' && record.proof?.provedAt !== proof?.provedAt,
  );
  expect(ended).toMatchObject({ state: 'destroyed', failure: null, hostId: 'test' });
  expect(await mayfly.residue()).toEqual([]);
});

alone('a record that is only late is no orphan: its machine lives', async ({ mayfly }) => {
  const input = mayfly.input();
  const record = await mayfly.create(input);
  await loseSaga(input.id);
  await deleteRecord(input.id);
  const round = reconcile();
  await all().store.sandboxes.put(record); // within the grace time
  await round;
  expect(mayfly.memory?.domains.get(input.id)).toBe('running');
  await reconcile();
  await awaitAdoption(input.id);
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed', failure: null });
});

alone('two reconciliations at once take a sandbox over once', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  await Promise.all([reconcile(), reconcile()]);
  await mayfly.until(input.id, () => true);
  await reconcile();
  await awaitAdoption(input.id);
  const kinds = await listKinds(input.id);
  expect(kinds.filter((kind) => kind === 'sandbox.taken-over')).toHaveLength(1);
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
});

alone('a store that is ahead of Temporal ends the run of what has ended', async ({ mayfly }) => {
  const input = mayfly.input();
  const record = await mayfly.create(input);
  const ended = { ...record, state: 'destroyed', updatedAt: new Date(Date.now() - 3_600_000).toISOString() } as const;
  await mayfly.store.sandboxes.put(ended);
  await reconcileUntil(async () => mayfly.memory?.domains.has(input.id) === false);
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed' });
});

alone('one workflow reconciles, whoever begins it and how often, until it is cancelled', async ({ mayfly }) => {
  const { client } = all();
  const { reconciler } = new ControlTemporalClient(client);
  const times = { everyMs: 3_600_000, graceMs: GRACE_MS };
  await Promise.all([reconciler.ensure(times), reconciler.ensure(times), reconciler.reconcileNow(times)]);
  const handle = client.workflow.getHandle(RECONCILE_WORKFLOW);
  const { runId } = await handle.describe();
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  // A round that precedes the update of Temporal's list leaves the sandbox to the next round.
  await eventually(
    async () => {
      await reconciler.reconcileNow(times);
      return listKinds(input.id);
    },
    (kinds) => kinds.includes('sandbox.taken-over'),
  );
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
  expect((await handle.describe()).runId).toBe(runId);
  await handle.cancel();
  await handle.result();
});

alone('a round that failed is followed by the next one', async ({ mayfly }) => {
  const { client } = all();
  const { reconciler } = new ControlTemporalClient(client);
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  all().failpoints.arm('compareRecords.before=2*error');
  await reconciler.reconcileNow({ everyMs: 100, graceMs: GRACE_MS });
  await awaitAdoption(input.id);
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
  const handle = client.workflow.getHandle(RECONCILE_WORKFLOW);
  await handle.cancel();
  await handle.result();
});

alone('a control worker that ends in the middle of a round: another one goes on', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  all().failpoints.arm('takeOverSandboxes.before=hang');
  const round = reconcile();
  await eventually(
    () => openActivities('reconcileOnce'),
    (activities) => activities.includes('takeOverSandboxes'),
  );
  const restarted = all().startControl();
  all().failpoints.arm(undefined);
  await restarted;
  await round;
  await awaitAdoption(input.id);
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
});

/** Lists the pending activities of all open workflows of a type. */
async function openActivities(type: string): Promise<string[]> {
  const { client } = all();
  const found: string[] = [];
  for await (const { workflowId } of client.workflow.list({
    query: `WorkflowType="${type}" AND ExecutionStatus="Running"`,
  })) {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    found.push(...(raw.pendingActivities ?? []).map(({ activityType }) => activityType?.name ?? ''));
  }
  return found;
}

alone(
  'a host that is forgotten: its sandboxes end unproved, and when it is back they are proved first',
  async ({ mayfly }) => {
    const [waiting, running] = [mayfly.input(), mayfly.input()];
    await Promise.all([mayfly.create(waiting), mayfly.create(running)]);
    const template = templateRecord({ hostId: 'test', state: 'ready' });
    await mayfly.store.templates.put(template);
    await mayfly.host?.stop();
    await all().sagas.sandboxes.destroy({ ...waiting, begin: 'destroy' }, { actor });
    await mayfly.until(waiting.id, ({ waitingFor }) => waitingFor !== null);
    await all().sagas.hosts.forget({ hostId: 'test', actor, at: new Date().toISOString() });
    await all().sagas.hosts.forgotten('test', AbortSignal.timeout(HANGS_AFTER_MS));
    for (const { id } of [waiting, running]) {
      const ended = await mayfly.end(id);
      expect(ended).toMatchObject({ state: 'failed', failure: { code: 'host_forgotten' } });
      expect(ended.proof?.unproved).toContain('unproved: test was forgotten');
      expect(unprovenLayers(ended.proof?.observations ?? [])).toHaveLength(5);
      expect(await listKinds(id)).toContain('sandbox.unproved');
    }
    expect(await mayfly.store.templates.get(template.id)).toMatchObject({
      state: 'gone',
      reason: expect.stringContaining('unproved'),
    });
    expect(await mayfly.store.hosts.list()).toEqual([]);

    await mayfly.startHost();
    const refused = await mayfly.create();
    expect(refused).toMatchObject({ state: 'failed', failure: { code: 'no_host' } });
    await reconcile();
    const [host] = await mayfly.store.hosts.list();
    expect(host?.forgottenAt ?? null).toBeNull();
    for (const { id } of [waiting, running]) {
      const proved = await mayfly.until(id, ({ proof, state }) => state === 'failed' && proof?.unproved === undefined);
      expect(unprovenLayers(proved.proof?.observations ?? [])).toEqual([]);
    }
    const again = mayfly.input();
    expect(await mayfly.create(again)).toMatchObject({ state: 'running' });
  },
);

alone('a drained host gets no sandboxes, and what lives on it lives on', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await mayfly.store.hosts.order('test', { drainedAt: new Date().toISOString() });
  expect(await mayfly.create()).toMatchObject({ state: 'failed', failure: { code: 'no_host' } });
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
  await mayfly.store.hosts.order('test', { drainedAt: null });
  expect(await mayfly.create()).toMatchObject({ state: 'running' });
});

/** Costs 30 s. */
alone(
  'Temporal lost, and the store set back a day, under ten live sandboxes: all converge, and what was lost is said',
  async ({ mayfly }) => {
    const inputs = Array.from({ length: 10 }, () => mayfly.input());
    await Promise.all(inputs.map((input) => mayfly.create(input)));
    const [gone, half, early, orphan, ...rest] = inputs.map(({ id }) => id);
    if (!gone || !half || !early || !orphan) throw new Error('ten were made');
    const { store } = mayfly;
    // In the backup one is being created, one is not started, and one is missing.
    await store.sandboxes.put({ ...(await mayfly.record(half)), state: 'creating' });
    await store.sandboxes.put({ ...(await mayfly.record(early)), state: 'requested', hostId: null });
    await deleteRecord(orphan);
    mayfly.memory?.domains.delete(gone);
    await all().loseTemporal();
    await reconcile();
    for (const id of rest) {
      await awaitAdoption(id);
      expect(await mayfly.record(id)).toMatchObject({ state: 'running', failure: null });
    }
    for (const id of [gone, half, early, orphan]) {
      const lost = await mayfly.end(id);
      expect(lost).toMatchObject({ state: 'failed', failure: { code: 'sandbox_lost' } });
      expect(unprovenLayers(lost.proof?.observations ?? [])).toEqual([]);
    }
    expect(new Set((await all().marks()).map(({ sandboxId }) => sandboxId))).toEqual(new Set(rest));

    // Set back again, while the workflows live: they restore the records.
    const before = await Promise.all(rest.map((id) => mayfly.record(id)));
    for (const id of rest) await deleteRecord(id);
    await reconcileUntil(async () =>
      (await Promise.all(rest.map((id) => store.sandboxes.get(id)))).every((record) => record !== null),
    );
    for (const { id, state, hostId, expiresAt } of before) {
      expect(await mayfly.record(id)).toMatchObject({ state, hostId, expiresAt });
      expect(await listKinds(id)).toContain('sandbox.record-restored');
    }
    const counts = await store.reconciled.counts();
    for (const outcome of ['taken-over', 'lost', 'orphan-destroyed', 'record-restored'] as const) {
      expect(counts.get(outcome)).toBeGreaterThan(0);
    }
    for (const id of rest) expect(await mayfly.destroy(id)).toMatchObject({ state: 'destroyed', failure: null });
    expect(await mayfly.residue()).toEqual([]);
  },
);

alone('a snapshot that is being deleted when its saga is lost is gone on with', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  const { store } = mayfly;
  const snapshotId = `snp-${input.id.slice(4)}`;
  const snapshot = { kind: 'snapshot', operationId: snapshotId, name: 'kept', snapshotKind: 'disk', actor } as const;
  await all().sagas.sandboxes.operate(input.id, snapshot);
  await eventually(() => store.snapshots.get(snapshotId), { state: 'ready' });
  await store.snapshots.update(snapshotId, { state: 'deleting' });
  await reconcileUntil(async () => (await store.snapshots.get(snapshotId))?.state === 'deleted');
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
});
