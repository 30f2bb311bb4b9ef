import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect } from 'vitest';
import { ID_BYTES, operationIdFrom } from '../../../model/ids.ts';
import { sandboxWorkflowId } from '../../../model/sagas/queues.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { eventually } from '../../support/eventually.ts';
import { useLimitedTemporal } from '../../support/limited-temporal.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { OtherHost } from '../../support/other-host.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { HANGS_AFTER_MS } from '../../support/test-timeouts.ts';

/** Updates of a run after which Temporal suggests continue-as-new; its limit is twice that. */
const UPDATES = 20;
const env = useLimitedTemporal({
  'history.maxTotalUpdates': 2 * UPDATES,
  'history.maxTotalUpdates.suggestContinueAsNewThreshold': 0.5,
  'limit.historyCount.suggestContinueAsNew': 300,
});
const { test, alone, mayfly: all } = useSagaCases({ kind: 'in-memory', env });

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

async function runsOf(mayfly: MayflyCase, id: string) {
  const found = [];
  for await (const run of mayfly.client.workflow.list({ query: `WorkflowId = "${sandboxWorkflowId(id)}"` }))
    found.push(run);
  return found;
}

async function eventsOf(mayfly: MayflyCase, id: string, kind: string): Promise<AuditEvent[]> {
  const entries = await mayfly.store.audit.entries(id, { limit: 10_000 });
  return entries.map(({ body }) => JSON.parse(body) as AuditEvent).filter((event) => event.kind === kind);
}

/** Number of inspections in which the host still reports a lease, by sandbox. */
const lookedAt = new Map<string, number>();

beforeAll(() => {
  const { hypervisor } = all().machine();
  const look = hypervisor.look.bind(hypervisor);
  hypervisor.look = async (id) => {
    const seen = await look(id);
    const looks = lookedAt.get(id) ?? 0;
    if (looks === 0) return seen;
    lookedAt.set(id, looks - 1);
    return seen.map((one) => (one.layer === 'lease' ? { ...one, absent: false, found: 'a lease' } : one));
  };
});

describe.concurrent('a sandbox that lives longer than a run', () => {
  test('applies more concurrent updates than a run allows, each exactly once', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create(mayfly.input({ agentId: 'agent-7' }));
    await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 5_000, actor });
    const { expiresAt } = await mayfly.record(id);
    const each = UPDATES;
    const callers = ['a', 'b', 'c', 'd'].map(async (caller) => {
      for (let n = 0; n < each; n++) {
        const metadata = { caller, n: String(n) };
        await mayfly.sagas.sandboxes.patch(id, { metadata, actor });
        const seen = (await mayfly.record(id)).spec.metadata; // its own, or a later one of another caller
        if (seen['caller'] === caller) expect(seen).toEqual(metadata);
      }
    });
    await Promise.all(callers);
    const told = await eventsOf(mayfly, id, 'sandbox.patched');
    const changes = told.map(({ detail }) => JSON.stringify(detail['metadata']));
    expect([told.length, new Set(changes).size]).toEqual([4 * each + 1, 4 * each + 1]);
    expect(new Set(told.map(({ eventId }) => eventId)).size).toBe(told.length);
    expect((await runsOf(mayfly, id)).length).toBeGreaterThan(3);
    const { searchAttributes } = await mayfly.client.workflow.getHandle(sandboxWorkflowId(id)).describe();
    const [source, host, agent] = [['golden-debian12'], ['test'], ['agent-7']];
    expect(searchAttributes).toMatchObject({ SandboxSource: source, SandboxHost: host, SandboxAgent: agent });
    expect(await operations.pause(id)).toBeNull();
    expect(await operations.resume(id)).toBeNull();
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', expiresAt, hostId: 'test' });
    expect(await mayfly.destroy(id)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
  });

  test('keeps its operations fenced, and remembers finished ones', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    const operationId = operationIdFrom(randomBytes(ID_BYTES));
    await operations.begin(id, { kind: 'pause', operationId, actor });
    expect(await operations.ended(id, operationId)).toBeNull();
    for (let n = 0; n < UPDATES / 2; n++) {
      expect(await operations.resume(id)).toBeNull();
      expect(await operations.pause(id)).toBeNull();
    }
    expect(await runsOf(mayfly, id)).not.toHaveLength(1);
    const paused = (await eventsOf(mayfly, id, 'sandbox.paused')).length;
    expect(await operations.resume(id)).toBeNull();
    await operations.begin(id, { kind: 'pause', operationId, actor }); // a repeated request joins the finished operation
    expect(await operations.ended(id, operationId)).toBeNull();
    expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
    expect(await eventsOf(mayfly, id, 'sandbox.paused')).toHaveLength(paused);
  });

  test('keeps its TTL and idle timer in a later run', async ({ mayfly }) => {
    for (const [reason, spec] of [
      ['ttl', { ttlSeconds: 600 }],
      ['idle', { idleSeconds: 600 }],
    ] as const) {
      const { id } = await mayfly.create(mayfly.input(spec));
      for (let n = 0; n < UPDATES; n++) await mayfly.sagas.sandboxes.patch(id, { metadata: { n: String(n) }, actor });
      const last = reason === 'ttl' ? { ttlSeconds: 3 } : { idleSeconds: 3 };
      await mayfly.sagas.sandboxes.patch(id, { ...last, actor });
      expect(await mayfly.end(id)).toMatchObject({ state: 'destroyed', stopReason: reason });
      expect((await runsOf(mayfly, id)).length).toBeGreaterThan(1);
    }
  });
});

alone('a host that refused a create and was away is compensated by a later run', async ({ mayfly }) => {
  const other = await OtherHost.start(all(), 'other');
  const [{ hostId, installationId }, { observer }] = [other, all().machine()];
  const hosts = [
    { hostId, installationId },
    { hostId: 'test', installationId: observer.installationId },
  ];
  const input = { ...mayfly.input(), hosts };
  mayfly.arm('reserve.after=1*error(host_disk_full);releaseReservation.before=1000*error', input.id);
  const { id } = await mayfly.create(input);
  await other.stop();
  mayfly.arm(undefined, id);
  for (let n = 0; n < UPDATES; n++) await mayfly.sagas.sandboxes.patch(id, { metadata: { n: String(n) }, actor });
  await eventually(async () => (await runsOf(mayfly, id)).length > 1, true);
  expect(await other.reservations()).toEqual([`${id}.json`]);
  await other.start();
  await eventually(
    () => other.reservations(),
    (names) => names.length === 0,
  );
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', hostId: 'test' });
});

describe.concurrent('a cleanup that fails for long', () => {
  test('of a create: the waiting caller gets the end, with the original failure', async ({ mayfly }) => {
    const input = { ...mayfly.input({}, { cleanupPauseMs: 1 }), ...mayfly.proposals() }; // `other` has stopped
    mayfly.arm('verifySsh.before=error(ssh_timeout)', input.id);
    lookedAt.set(input.id, 20);
    await mayfly.sagas.sandboxes.create(input);
    const settled = mayfly.sagas.sandboxes.settled(input.id, AbortSignal.timeout(HANGS_AFTER_MS));
    const waiting = await mayfly.until(input.id, ({ waitingFor }) => waitingFor !== null);
    expect(waiting).toMatchObject({ state: 'destroying', waitingFor: 'lease to be gone from host test' });
    await settled;
    const failure = { code: 'ssh_timeout', step: 'verifySsh' };
    expect(await mayfly.record(input.id)).toMatchObject({ state: 'failed', failure, waitingFor: null });
    const runs = (await runsOf(mayfly, input.id)).length;
    expect(runs).toBeGreaterThan(1);
    expect((await eventsOf(mayfly, input.id, 'sandbox.cleanup')).length).toBeLessThanOrEqual(runs + 1);
    expect(await eventsOf(mayfly, input.id, 'sandbox.proof')).toHaveLength(1);
  });

  test('a step that is refused repeatedly adds no history, and further deletes are accepted', async ({ mayfly }) => {
    const input = { ...mayfly.input({}, { cleanupPauseMs: 1 }), ...mayfly.proposals() };
    const { id } = await mayfly.create(input);
    mayfly.arm('removeDomain.before=error(invalid_request)', id);
    await mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor });
    const saga = mayfly.client.workflow.getHandle(sandboxWorkflowId(id));
    const attempts = async () => (await saga.describe()).raw.pendingActivities?.[0]?.attempt ?? 0;
    await eventually(attempts, (attempt) => attempt > 10);
    expect((await saga.describe()).historyLength).toBeLessThan(100);
    expect((await mayfly.record(id)).waitingFor).toMatch(/^removeDomain on host test: /);
    const again = () => mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor });
    for (let n = 0; n < 16; n++) await Promise.all(Array.from({ length: 20 }, again));
    await eventually(
      () => runsOf(mayfly, id),
      (runs) => runs.length > 1,
    );
    mayfly.arm(undefined, id);
    expect(await mayfly.end(id)).toMatchObject({ state: 'destroyed', stopReason: 'deleted', waitingFor: null });
  });
});
