import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { createDispatchActivities } from '../../../activities/function/queue/dispatch.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { FunctionSpec } from '../../../model/functions/function.ts';
import { getInitialState, type RunRecord } from '../../../model/functions/run.ts';
import { InputSchemas } from '../../../services/schema/input-schemas.ts';
import type { Store } from '../../../store/connect.ts';
import { cancelRun } from '../../../store/functions/run-cancel.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { DeferredValidation } from '../../../worker/upkeep/functions/late-checks.ts';
import { RunQueuePoller } from '../../../worker/upkeep/functions/run-queues.ts';
import { functionRecord, functionVersion, runRecord } from '../../store/run-records.ts';
import { type OpenedStore, useStore } from '../../support/use-store.ts';

/**
 * Promise: an unchecked event is admitted only if it fits its schema, and delays no other, after any death. Seconds.
 */
let store: Store;
let db: OpenedStore['db'];
useStore((opened) => ({ store, db } = opened), { auditKey: Buffer.alloc(32, 7) });
const schemas = new InputSchemas();
afterAll(() => schemas.close());
const logger = pino({ level: 'silent' });
const [started, rung]: [string[], string[]] = [[], []];

class Noted extends ControlTemporalClient {
  constructor() {
    super(null as never);
    this.functions.startRun = async ({ runId }) => {
      started.push(runId);
      return 'begun';
    };
    this.functions.wakeDispatcher = async () => {};
    this.functions.ensureDispatcher = async () => {};
  }
}
const bell = { ring: ({ name }: { name: string }) => void rung.push(name) };
const checks = (by = schemas) => new DeferredValidation(store, by, bell, logger);
const dispatch = (name: string) =>
  createDispatchActivities({ store, reconciliation: new Noted() }).admitRuns({ project: 'default', name, after: '' });
const upkeep = () => new RunQueuePoller(store, new Noted(), logger).look();

const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const began = Date.now() - 600_000;
let [names, count] = [0, 0];

async function deployed(spec: Partial<FunctionSpec> = {}): Promise<string> {
  const name = `late-${++names}`;
  await store.functions.create(functionRecord({ name }));
  const input = { schema: SCHEMA, maxBytes: 1_000 };
  await store.functionVersions.create({ ...functionVersion({ input, ...spec }), function: name, digest: name });
  return name;
}

/** Accepts an event one second after the previous one. */
async function came(name: string, data: unknown, isChecked: boolean, changes: Partial<RunRecord> = {}) {
  const acceptedAt = new Date(began + ++count * 1_000).toISOString();
  const run = runRecord(count, { function: name, versionDigest: name, acceptedAt, ...changes });
  const at = { ...run, ...getInitialState(run, { isChecked, now: acceptedAt }) };
  const event = { specversion: '1.0', id: String(count), source: '/test', type: 'test', data };
  expect(await store.runs.accept(at, Buffer.from(JSON.stringify(event)))).toBe(true);
  return at;
}
const unchecked = (name: string, data: unknown, changes: Partial<RunRecord> = {}) => came(name, data, false, changes);
const known = (name: string, changes: Partial<RunRecord> = {}) => came(name, { n: 1 }, true, changes);
const of = (key: string) => ({ keys: [key], lane: key });

const latest = async ({ id }: RunRecord) => (await store.runs.get(id)) ?? expect.fail(`${id} is gone`);
async function stateOf(run: RunRecord): Promise<string> {
  const { state, waitingFor, outcome, skippedFor } = await latest(run);
  return skippedFor ?? outcome ?? waitingFor ?? state;
}
const statesOf = (...runs: RunRecord[]) => Promise.all(runs.map(stateOf));

describe('an event that does not fit', () => {
  it('ends its run unstarted, as a dead letter with place and reason', async () => {
    const name = await deployed();
    const run = await unchecked(name, { n: 'x' });
    await dispatch(name);
    await upkeep();
    expect(await stateOf(run)).toBe('check');
    await checks().look();
    expect(await latest(run)).toMatchObject({
      state: 'ended',
      outcome: 'not-started',
      cleanup: 'none',
      waitingFor: null,
      admittedAt: null,
      failure: {
        code: 'event_invalid',
        message: `Its data does not fit the schema of ${name}. data/n must be integer.`,
      },
    });
    const dead = await store.runs.list({ project: 'default', function: name, deadLetter: true, limit: 5 });
    expect(dead.items.map(({ id }) => id)).toEqual([run.id]);
    await dispatch(name);
    expect(started).not.toContain(run.id);
    expect(rung).toContain(name);
  });

  it('delays only later events of its key, and only until it is checked', async () => {
    const name = await deployed({ concurrency: [{ limit: 1, key: '/k', onFull: 'queue' }] });
    const bad = await unchecked(name, {}, of('"a"'));
    const [behind, other] = [await known(name, of('"a"')), await known(name, of('"b"'))];
    const plain = await deployed();
    const [aside, neighbour] = [await unchecked(plain, {}), await known(plain)];
    await Promise.all([dispatch(name), dispatch(plain)]);
    expect(await statesOf(bad, behind, other)).toEqual(['check', 'queued', 'preparing']);
    expect(await statesOf(aside, neighbour)).toEqual(['check', 'preparing']);
    await checks().look();
    await dispatch(name);
    expect(await statesOf(bad, behind, aside)).toEqual(['not-started', 'preparing', 'not-started']);
  });

  it('replaces no running run', async () => {
    const name = await deployed({ concurrency: [{ limit: 1, key: '/k', onFull: 'cancel-running' }] });
    const [older, newer] = [await known(name, of('"a"')), await unchecked(name, {}, of('"a"'))];
    await dispatch(name);
    expect(await statesOf(older, newer)).toEqual(['preparing', 'check']);
    await checks().look();
    await dispatch(name);
    expect(await statesOf(older, newer)).toEqual(['preparing', 'not-started']);
    expect((await latest(older)).cancelledBy).toBeNull();
  });

  it('ends for any fault: a slow schema, a missing version or a damaged record', async () => {
    const slow = { type: 'object', properties: { s: { pattern: '^(a+)+$' } } };
    const name = await deployed({ input: { schema: slow, maxBytes: 1_000 } });
    const late = await unchecked(name, { s: `${'a'.repeat(40)}!` });
    const gone = await unchecked(name, {}, { versionDigest: 'another' });
    const damaged = await unchecked(name, {});
    const runs = db.collection<{ _id: string; eventJson: unknown }>('runs');
    const eventJson = (await runs.findOne({ _id: gone.id }))?.eventJson;
    await runs.updateOne({ _id: damaged.id }, { $set: { eventJson } });
    const good = await unchecked(name, { s: 'aaa' });
    await checks().look();
    expect((await latest(late)).failure).toMatchObject({ code: 'schema_too_slow' });
    expect((await latest(gone)).failure).toMatchObject({ code: 'function_gone' });
    const left = await runs.findOne({ _id: damaged.id });
    expect(left).toMatchObject({ state: 'ended', outcome: 'not-started' });
    expect(await stateOf(good)).toBe('queued');
  });
});

describe('an event that fits', () => {
  it('keeps its place, also when later ones were checked at once', async () => {
    const name = await deployed({ concurrency: [{ limit: 1, key: '/k', onFull: 'queue' }] });
    const [first, second] = [await unchecked(name, { n: 1 }, of('"a"')), await known(name, of('"a"'))];
    await dispatch(name);
    expect(await statesOf(first, second)).toEqual(['check', 'queued']);
    await checks().look();
    await dispatch(name);
    expect(await statesOf(first, second)).toEqual(['preparing', 'concurrency']);
  });

  it('joins a batch after its check, and not before', async () => {
    const gathering = { kind: 'batch', maxSize: 2, maxWaitMs: 3_600_000 } as const;
    const name = await deployed({ batch: { maxSize: 2, maxWaitSeconds: 300, key: null } });
    const [good, bad] = [await unchecked(name, { n: 1 }, { gathering }), await unchecked(name, {}, { gathering })];
    const other = await known(name, { gathering });
    await upkeep();
    expect(await statesOf(good, bad, other)).toEqual(['check', 'check', 'batch']);
    await checks().look(); // it fills the batch
    await upkeep();
    expect(await stateOf(bad)).toBe('not-started');
    const [batch, same] = [(await latest(good)).batch, (await latest(other)).batch];
    expect(batch).toMatch(/^run-/);
    expect(same).toBe(batch);
  });
});

describe('a check', () => {
  const broken = (error: unknown) =>
    Object.assign(Object.create(schemas) as InputSchemas, { problemsOf: () => Promise.reject(error) });

  it('that dies leaves the event to the next; an internal error ends it', async () => {
    const [name, other] = [await deployed(), await deployed()];
    const [bad, good] = [await unchecked(name, {}), await unchecked(other, { n: 1 })];
    const closed = new InputSchemas();
    await closed.close();
    await checks(closed).look();
    expect(await statesOf(bad, good)).toEqual(['check', 'check']);
    await checks().look();
    expect(await statesOf(bad, good)).toEqual(['not-started', 'queued']);
    const unlucky = await unchecked(name, { n: 1 });
    await checks(broken(new Error('nobody expects it'))).look();
    expect((await latest(unlucky)).failure).toMatchObject({ code: 'internal' });
  });

  it('that fails for one function delays no other function', async () => {
    const [first = '', second = ''] = [await deployed(), await deployed()].toSorted();
    const [stuck, free] = [await unchecked(first, { n: 1 }), await unchecked(second, { n: 1 })];
    const problemsOf: InputSchemas['problemsOf'] = (digest, ...given) =>
      digest === first
        ? Promise.reject(new MayflyError('payload_key_unusable', 'of this one alone'))
        : schemas.problemsOf(digest, ...given);
    await checks(Object.assign(Object.create(schemas) as InputSchemas, { problemsOf })).look();
    expect(await statesOf(stuck, free)).toEqual(['check', 'queued']);
    await checks().look();
    expect(await stateOf(stuck)).toBe('queued');
  });

  it('changes no event that another check has decided, that is cancelled, or that has expired', async () => {
    const name = await deployed();
    const runs = await Promise.all(Array.from({ length: 6 }, (_, n) => unchecked(name, n % 2 === 0 ? { n } : {})));
    await Promise.all([checks().look(), checks().look(), checks().look()]);
    const over = ['queued', 'not-started'];
    expect(await statesOf(...runs)).toEqual([...over, ...over, ...over]);
    const cancelled = await unchecked(name, {});
    await cancelRun(store.runs, cancelled, cancelled.createdBy, async () => {});
    const expired = await unchecked(name, {}, { expiresAt: new Date(began).toISOString() });
    await upkeep();
    await checks().look();
    expect(await statesOf(cancelled, expired)).toEqual(['cancelled', 'expired']);
    const late = broken(new Error('it is later than another'));
    const seen = { run: runs[0] as RunRecord, isWhole: true };
    const uncheckedRuns = Object.assign(Object.create(store.uncheckedRuns) as Store['uncheckedRuns'], {
      next: async (after: unknown) => (after === null ? seen : null),
    });
    await new DeferredValidation({ ...store, uncheckedRuns }, late, bell, logger).look();
    expect(await stateOf(seen.run)).toBe('queued');
  });
});
