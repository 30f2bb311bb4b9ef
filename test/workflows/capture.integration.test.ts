import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { entriesOf } from '../../host/directory.ts';
import type { SimulatedHypervisor } from '../../host/simulated/driver.ts';
import { isStopped } from '../../host/simulated/processes.ts';
import { type CaptureInput, type CaptureRecord, captureWorkflowIdOf } from '../../model/capture.ts';
import { captureIdFrom, ID_BYTES, sourceIdOf } from '../../model/ids.ts';
import { useMayfly } from '../support/mayfly.ts';

const mayfly = useMayfly();
const STEPS = ['reserveCapture', 'beginCapture', 'awaitCapture', 'verifyCapture', 'keepCapture'] as const;
const UNDOS = ['thawSource', 'abortCapture', 'removeCapture', 'releaseCapture'] as const;

let name = '';
const hypervisor = () => mayfly().host?.machine.hypervisor as SimulatedHypervisor;
const images = () => join(mayfly().config.stateDir, 'images');
const captures = async () => (await entriesOf(join(mayfly().config.stateDir, 'captures'))) ?? [];
const reserved = () => readdir(join(mayfly().config.stateDir, 'reservations'));
const newId = () => captureIdFrom(randomBytes(ID_BYTES));

async function boot(): Promise<void> {
  name = `server-${randomBytes(4).toString('hex')}`;
  const { runningSources } = hypervisor();
  await runningSources.make(name);
  await runningSources.start(name);
  await writeFile(join(images(), name, 'root', 'root-was-here'), name);
}

afterEach(async () => {
  if (!name) return;
  for (const { id, state } of (await mayfly().store.captures.list({ source: name, limit: 50 })).items) {
    if (state === 'ready') await ended(await begin('delete', id));
  }
  expect(await captures()).toEqual([]);
  await hypervisor().runningSources.stop(name);
  name = '';
});

async function begin(task: CaptureInput['task'], captureId = newId()): Promise<string> {
  const actor = { apiKeyId: 'test', agentId: null };
  const at = new Date().toISOString();
  await mayfly().sagas.capture({
    task,
    captureId,
    sourceId: sourceIdOf('test', name),
    hostId: 'test',
    source: name,
    actor,
    at,
  });
  return captureId;
}

async function recordOf(id: string): Promise<CaptureRecord> {
  const record = await mayfly().store.captures.get(id);
  if (!record) throw new Error(`nothing is known of ${id}`);
  return record;
}

async function ended(id: string): Promise<CaptureRecord> {
  await mayfly().sagas.captureEnded({ hostId: 'test', source: name }, AbortSignal.timeout(60_000));
  return recordOf(id);
}

const taken = async () => ended(await begin('create'));

async function moves(): Promise<boolean> {
  const pids = await hypervisor().runningSources.processesOf(name);
  expect(pids.length).toBeGreaterThan(0);
  const isNoted = (await entriesOf(join(images(), name)))?.includes('stopped.json') ?? false;
  return !pids.some(isStopped) && !isNoted;
}

async function audit(): Promise<string[]> {
  const entries = await mayfly().store.audit.entries(sourceIdOf('test', name), { limit: 100 });
  return entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
}

function failed(record: CaptureRecord, step: string, code = 'fault_injected'): void {
  expect(record).toMatchObject({ state: 'failed', saved: null, failure: { step, code }, waitingFor: null });
}

test('a running source is captured, cloned from its newest capture, and the capture deleted', async () => {
  await boot();
  const before = await taken();
  expect(before).toMatchObject({ state: 'ready', failure: null, createdBy: { apiKeyId: 'test' } });
  expect(before.saved).toMatchObject({ quiesced: true, parentId: null, disks: [{ target: 'root' }] });
  await writeFile(join(images(), name, 'root', 'root-was-here'), 'later');
  expect(await captures()).toEqual([before.id]);
  expect(await reserved()).toEqual([]);
  expect(await moves()).toBe(true);
  await mayfly().keepHistory('capture', before.id, captureWorkflowIdOf({ hostId: 'test', source: name }));

  const sandbox = await mayfly().create(mayfly().input({ source: name, captureId: before.id }));
  expect(sandbox).toMatchObject({ state: 'running', spec: { source: name, captureId: before.id } });
  const file = join(mayfly().config.stateDir, 'sandboxes', sandbox.id, 'root', 'root-was-here');
  expect(await readFile(file, 'utf8')).toBe(name);

  expect(await ended(await begin('delete', before.id))).toMatchObject({ state: 'deleted' });
  expect(await captures()).toEqual([]);
  await mayfly().keepHistory('capture-deleted', before.id, captureWorkflowIdOf({ hostId: 'test', source: name }));
  expect(await audit()).toEqual(['capture.requested', 'capture.ready', 'capture.deleting', 'capture.deleted']);
  const next = await mayfly().create(mayfly().input({ source: name, captureId: before.id }));
  expect(next).toMatchObject({ state: 'failed', failure: { code: 'capture_not_ready' } });
});

describe.each(STEPS)('%s', (step) => {
  test.each(['before', 'after'] as const)(
    'fails %s its effect: nothing is left, and the source goes on',
    async (where) => {
      await boot();
      mayfly().failpoints.arm(`${step}.${where}=error`);
      failed(await taken(), step);
      expect(await captures()).toEqual([]);
      expect(await reserved()).toEqual([]);
      expect(await moves()).toBe(true);
      expect(await audit()).toEqual(['capture.requested', 'capture.failed']);
      mayfly().failpoints.arm(undefined);
      expect(await taken()).toMatchObject({ state: 'ready' });
    },
  );

  test('is done twice, as by the worker after one that died: it is one capture', async () => {
    await boot();
    mayfly().failpoints.arm(`${step}.after=2*error(host_unavailable)`);
    const { id, state } = await taken();
    expect(state).toBe('ready');
    expect(await captures()).toEqual([id]);
    expect(await moves()).toBe(true);
  });
});

test.each(['beginCapture', 'verifyCapture'])(
  '%s fails in its middle: nothing is left, and the source goes on',
  async (step) => {
    await boot();
    mayfly().failpoints.arm(`${step}.during=error`);
    failed(await taken(), step);
    expect(await captures()).toEqual([]);
    expect(await moves()).toBe(true);
    await mayfly().keepHistory('capture-failed', '', captureWorkflowIdOf({ hostId: 'test', source: name }));
  },
);

test.each(UNDOS)('an undo that fails is repeated until it holds, and the record says so: %s', async (step) => {
  await boot();
  mayfly().failpoints.arm(`keepCapture.after=error;${step}.before=error`);
  const id = await begin('create');
  await expect
    .poll(async () => (await recordOf(id).catch(() => null))?.waitingFor, { timeout: 20_000 })
    .toContain(step);
  mayfly().failpoints.arm(undefined);
  failed(await ended(id), 'keepCapture');
  expect(await captures()).toEqual([]);
  expect(await reserved()).toEqual([]);
});

test('one at a time: another is refused while one is made, the same one joins; a stopped source is not captured', async () => {
  await boot();
  mayfly().failpoints.arm('awaitCapture.during=hang');
  const id = await begin('create');
  await begin('create', id);
  await expect(begin('create')).rejects.toMatchObject({ code: 'source_busy', message: expect.stringContaining(id) });
  await expect(begin('delete', id)).rejects.toMatchObject({ code: 'source_busy' });
  await expect.poll(captures, { timeout: 20_000 }).toEqual([`${id}.new`]);
  const input = mayfly().input({ source: name, captureId: id });
  expect(await mayfly().create(input)).toMatchObject({ state: 'failed', failure: { code: 'capture_not_ready' } });
  // Its host worker dies; the next one goes on waiting for the same copy.
  const attempted = await stat(join(mayfly().config.stateDir, 'captures', `${id}.new`, 'root'));
  await mayfly().host?.stop();
  mayfly().failpoints.arm(undefined);
  await mayfly().startHost();
  expect(await ended(id)).toMatchObject({ state: 'ready' });
  expect((await stat(join(mayfly().config.stateDir, 'captures', id, 'root'))).ino).toBe(attempted.ino);

  await hypervisor().runningSources.stop(name);
  failed(await taken(), 'reserveCapture', 'source_not_running');
  await hypervisor().runningSources.start(name);
});
