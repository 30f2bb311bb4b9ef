import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { SimulatedHypervisor } from '../../host/simulated/driver.ts';
import { sourceIdOf } from '../../model/ids.ts';
import type { SourceAccess, SourceTask } from '../../model/source-access.ts';
import { describeTree } from '../host/source/tree-digest.ts';
import { useMayfly } from '../support/mayfly.ts';

const mayfly = useMayfly();
const STEPS = [
  'inspectSource',
  'claimSource',
  'installGate',
  'createReader',
  'trustUserCa',
  'admitReader',
  'makeSourceKey',
  'verifyReader',
] as const;
const UNDOS = [
  'forgetSource',
  'excludeReader',
  'distrustUserCa',
  'removeReader',
  'removeGate',
  'releaseSource',
] as const;

let name = '';
const id = () => sourceIdOf('test', name);
const hypervisor = () => mayfly().host?.machine.hypervisor as SimulatedHypervisor;
const folder = () => join(mayfly().config.stateDir, 'images', name);

async function boot(): Promise<void> {
  name = `server-${randomBytes(4).toString('hex')}`;
  await hypervisor().runningSources.make(name);
  await hypervisor().runningSources.start(name);
}

afterEach(async () => {
  if (name) await hypervisor().runningSources.stop(name);
  name = '';
});

async function begin(task: SourceTask): Promise<void> {
  const actor = { apiKeyId: 'test', agentId: null };
  await mayfly().sagas.sourceTask({ task, sourceId: id(), hostId: 'test', name, actor });
}

async function end(): Promise<SourceAccess> {
  await mayfly().sagas.sourceTaskEnded({ hostId: 'test', name }, AbortSignal.timeout(60_000));
  const record = await mayfly().store.sources.get(id());
  if (!record) throw new Error(`nothing is known of ${name}`);
  return record;
}

async function done(task: SourceTask): Promise<SourceAccess> {
  await begin(task);
  return end();
}

async function tree(): Promise<string[]> {
  const found = await Promise.all(
    ['root/etc', 'root/var', 'local-lib'].map((part) => describeTree(join(folder(), part))),
  );
  return found.flat();
}

async function audit(): Promise<string[]> {
  const entries = await mayfly().store.audit.entries(id(), { limit: 100 });
  return entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
}

test('a source is prepared, cannot be cloned while it runs, and is as it was when that is taken back', async () => {
  await boot();
  const before = await tree();
  const prepared = await done('prepare');
  expect(prepared).toMatchObject({
    state: 'prepared',
    failure: null,
    waitingFor: null,
    preparedBy: { apiKeyId: 'test' },
  });
  expect(prepared.sshd?.hostKey).toMatch(/^ssh-ed25519 /);
  expect(prepared.changes.length).toBe(5);
  const request = {
    sandboxId: mayfly().input().id,
    source: name,
    snapshotId: null,
    cpus: null,
    memoryMib: null,
    egress: 'none' as const,
  };
  const context = { signal: AbortSignal.timeout(10_000), alive: () => {} };
  await expect(hypervisor().cloneDisk({ ...request, userCaKeys: [] }, context)).rejects.toMatchObject({
    code: 'source_running',
  });

  expect(await done('unprepare')).toMatchObject({ state: 'unprepared', changes: [], preparedAt: null });
  expect(await tree()).toEqual(before);
  expect(await audit()).toEqual(['certificate.issued', 'source.prepared', 'source.unprepared']);
  expect((await mayfly().store.audit.verify(id())).problems).toEqual([]);
});

describe.each(STEPS)('%s', (step) => {
  test.each(['before', 'after'] as const)(
    'fails %s its effect: the source is as it was, and the reason is told',
    async (where) => {
      await boot();
      const before = await tree();
      mayfly().failpoints.arm(`${step}.${where}=error`);
      const record = await done('prepare');
      expect(record).toMatchObject({
        state: 'unprepared',
        failure: { step, code: 'fault_injected' },
        waitingFor: null,
      });
      expect(await tree()).toEqual(before);
      mayfly().failpoints.arm(undefined);
      expect(await done('prepare')).toMatchObject({ state: 'prepared', failure: null });
    },
  );

  test('pra-006: a worker that dies in it is followed by one that goes on, without anything twice', async () => {
    await boot();
    await done('prepare');
    const prepared = await tree();
    await done('unprepare');
    // Retryable: done, and then done again, as by the worker after the one that died before it could say so.
    mayfly().failpoints.arm(`${step}.after=2*error(host_unavailable)`);
    expect(await done('prepare')).toMatchObject({ state: 'prepared', failure: null });
    expect(await tree()).toEqual(prepared);
  });
});

test.each(UNDOS)('an undo that fails is repeated until it holds: %s', async (step) => {
  await boot();
  const before = await tree();
  await done('prepare');
  mayfly().failpoints.arm(`${step}.before=error`);
  await begin('unprepare');
  await expect
    .poll(async () => (await mayfly().store.sources.get(id()))?.waitingFor, { timeout: 20_000 })
    .toContain(step);
  mayfly().failpoints.arm(undefined);
  expect(await end()).toMatchObject({ state: 'unprepared', waitingFor: null });
  expect(await tree()).toEqual(before);
});

test('while one task runs, the other is refused, and the same is joined', async () => {
  await boot();
  mayfly().failpoints.arm('createReader.before=1*delay(2000)');
  await begin('prepare');
  await expect(begin('unprepare')).rejects.toMatchObject({ code: 'too_many_requests' });
  await begin('prepare');
  expect(await end()).toMatchObject({ state: 'prepared' });
});

test('a source that does not run is told so, and nothing is changed', async () => {
  await boot();
  await hypervisor().runningSources.stop(name);
  expect(await done('prepare')).toMatchObject({
    state: 'unprepared',
    failure: { code: 'source_not_running', step: 'inspectSource' },
  });
});
