import { randomBytes } from 'node:crypto';
import mongoose from 'mongoose';
import { afterAll, beforeAll, expect } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import { NO_LIMITS, type ProjectLimits, type ProjectUsage } from '../../../model/project-limits.ts';
import { UNMEASURED_BYTES } from '../../../model/snapshots/storage.ts';
import type { Problem } from '../../../services/problems/problem.ts';
import { connectStore, type Store } from '../../../store/connect.ts';
import { installationKeys } from '../../../worker/payloads/data-converter.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

/** Two API processes, each with a connection of its own. */
let doors: TestDoor[];
let stores: Store[];
let database: mongoose.Connection;
beforeAll(async () => {
  const { config, sagas } = all();
  const keys = await installationKeys(config, false);
  stores = await Promise.all([1, 2].map(() => connectStore(config.mongodbUri ?? '', { keys })));
  doors = await Promise.all(stores.map((store) => TestDoor.open({ store, sagas })));
  database = await mongoose.createConnection(config.mongodbUri ?? '').asPromise();
});
afterAll(async () => {
  for (const door of doors) door.close();
  await Promise.all([...stores.map((store) => store.close()), database.close()]);
});

/** Creates a project, and returns calls with a key of it. */
async function projectWith(mayfly: MayflyCase, limits: Partial<ProjectLimits>) {
  const id = `p${randomBytes(5).toString('hex')}`;
  await mayfly.store.projects.create(id, { sources: null, limits });
  const { secret } = await mayfly.store.apiKeys.create({ name: 'test', project: id, scopes: ['admin'] });
  const Authorization = `Bearer ${secret}`;
  const call = (method: string, path: string, body?: object, { at = 0, key }: Asking = {}) => {
    const headers = { Authorization, Prefer: 'wait=0', ...(key !== undefined && { 'Idempotency-Key': key }) };
    const door = doors[at];
    if (!door) throw new Error('there is no such door');
    return door.call(method, path, body, headers);
  };
  /** Starts a create without waiting for it. */
  const create = async (body: object = {}, asking: Asking = {}) => {
    const wish = 'snapshotId' in body ? body : { source: mayfly.input().spec.source, ...body };
    const response = await call('POST', '/v1/sandboxes', wish, asking);
    const told = await toldBy(response);
    for (const { id: made } of response.ok ? sandboxesOf(told) : []) mayfly.own(made);
    return { response, told };
  };
  const snapshotOf = async (sandboxId: string) => {
    await mayfly.sagas.sandboxes.settled(sandboxId, AbortSignal.timeout(60_000));
    const made = await toldBy(call('POST', `/v1/sandboxes/${sandboxId}/snapshots`, {}));
    await eventually(() => mayfly.store.snapshots.get(made.id), { state: 'ready' });
    return made;
  };
  const deleteSnapshot = async (snapshotId: string) => {
    await call('DELETE', `/v1/snapshots/${snapshotId}`);
    await mayfly.sagas.snapshots.deleted(snapshotId, AbortSignal.timeout(60_000));
  };
  const used = async () =>
    (await (await call('GET', `/v1/projects/${id}/usage`)).json()) as ProjectUsage & { diskBytes: number };
  const living = async () => (await mayfly.store.sandboxes.list({ project: id, alive: true, limit: 200 })).items;
  return { id, call, create, snapshotOf, deleteSnapshot, used, living };
}
interface Asking {
  /** Index of the API process. `@default` 0 */
  at?: number;
  key?: string;
}

type Told = SandboxView & Partial<Problem> & { items?: { sandbox: SandboxView }[] };

async function toldBy(response: Response | Promise<Response>): Promise<Told> {
  return (await (await response).json()) as Told;
}

function sandboxesOf(told: Told): SandboxView[] {
  return told.items?.map(({ sandbox }) => sandbox) ?? [told];
}

const refused = { status: 429, code: 'project_quota_exceeded', retryable: true };

test('of a hundred concurrent creates via two processes, as many succeed as the quota allows', async ({ mayfly }) => {
  const { create, used, living, call } = await projectWith(mayfly, { sandboxes: 10 });
  const asked = await Promise.all(Array.from({ length: 100 }, (_, n) => create({}, { at: n % 2 })));
  const passed = asked.filter(({ response }) => response.ok);
  expect(passed).toHaveLength(10);
  for (const { response, told } of asked) {
    if (response.ok) continue;
    expect(told).toMatchObject(refused);
    expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(Number(response.headers.get('Retry-After'))).toBeLessThanOrEqual(60);
  }
  expect(await living()).toHaveLength(10);
  expect(await used()).toMatchObject({ sandboxes: 10 });

  // A sandbox counts until its absence is proved.
  const [first] = passed;
  const id = first?.told.id ?? '';
  mayfly.arm('lookAgain.before=hang', id);
  await call('DELETE', `/v1/sandboxes/${id}`);
  await mayfly.until(id, ({ state }) => state === 'destroying');
  expect((await create()).told).toMatchObject(refused);
  mayfly.disarm();
  await mayfly.end(id);
  expect((await create()).response.status).toBe(202);
  expect((await create()).told).toMatchObject(refused);
});

test('resources made with a key belong to its project, forks and snapshots included', async ({ mayfly }) => {
  const { id: project, create, snapshotOf, deleteSnapshot } = await projectWith(mayfly, {});
  const { told } = await create();
  await eventually(() => mayfly.record(told.id), { state: 'running' });
  const taken = await snapshotOf(told.id);
  const { told: forks } = await create({ snapshotId: taken.id, count: 2 });
  const forked = sandboxesOf(forks);
  expect(forked).toHaveLength(2);
  for (const made of [told, taken, ...forked]) expect(made).toMatchObject({ project, createdBy: { project } });
  expect(await mayfly.record(told.id)).toMatchObject({ project, size: { cpus: 1, memoryMib: 64 } });
  expect(await mayfly.store.snapshots.get(taken.id)).toMatchObject({ project, size: { cpus: 1, memoryMib: 64 } });
  await Promise.all(forked.map(({ id }) => mayfly.sagas.sandboxes.settled(id, AbortSignal.timeout(60_000))));
  await Promise.all(forked.map(({ id }) => mayfly.destroy(id)));
  await deleteSnapshot(taken.id);
});

test('an admission whose process dies before the start counts until it can no longer start', async ({ mayfly }) => {
  const { id: project, create, used } = await projectWith(mayfly, { sandboxes: 1 });
  const lost = mayfly.input().id;
  const limited = await mayfly.store.projects.get(project);
  if (!limited) throw new Error('there is no project');
  await stores[0]?.admissions.admit(limited, [{ sandboxId: lost, cpus: 1, memoryMib: 64 }], () =>
    Promise.resolve(false),
  );
  expect((await create({}, { at: 1 })).told).toMatchObject(refused);
  expect(await used()).toMatchObject({ sandboxes: 1 });
  await age(project);
  expect((await create({}, { at: 1 })).response.status).toBe(202);
  expect((await create()).told).toMatchObject(refused);
});

test('a started workflow without a record counts for as long as it runs', async ({ mayfly }) => {
  const { id: project, create } = await projectWith(mayfly, { sandboxes: 1 });
  const input = mayfly.input();
  mayfly.arm('recordRequested.before=hang', input.id);
  const limited = await mayfly.store.projects.get(project);
  if (!limited) throw new Error('there is no project');
  await stores[0]?.admissions.admit(limited, [{ sandboxId: input.id, cpus: 1, memoryMib: 64 }], () =>
    Promise.resolve(false),
  );
  await mayfly.sagas.sandboxes.begin(input);
  await age(project);
  expect((await create({}, { at: 1 })).told).toMatchObject(refused);
  mayfly.disarm();
  await mayfly.destroy(input);
});

test('a repeated request counts once, and a create with a taken name does not count', async ({ mayfly }) => {
  const { create, used } = await projectWith(mayfly, { sandboxes: 2, createsPerMinute: 100 });
  const key = randomBytes(8).toString('hex');
  const same = await Promise.all([1, 2, 3].map((_, n) => create({ name: 'web' }, { key, at: n % 2 })));
  expect(new Set(same.map(({ told }) => told.id)).size).toBe(1);
  const twice = await Promise.all([1, 2].map(() => create({ name: 'web' })));
  for (const { told } of twice) expect(told).toMatchObject({ code: 'name_taken' });
  expect(await used()).toMatchObject({ sandboxes: 1 });
  expect((await create()).response.status).toBe(202);
});

test('forks start all or none, and the same request succeeds when there is room', async ({ mayfly }) => {
  const { create, snapshotOf, deleteSnapshot } = await projectWith(mayfly, { sandboxes: 4 });
  const { told: parent } = await create();
  await mayfly.sagas.sandboxes.settled(parent.id, AbortSignal.timeout(60_000));
  const taken = await snapshotOf(parent.id);
  const { told: other } = await create();
  const forks = { snapshotId: taken.id, count: 3 };
  const key = randomBytes(8).toString('hex');
  expect((await create(forks, { key })).told).toMatchObject(refused);
  await mayfly.destroy(other.id);
  const { told } = await create(forks, { key });
  expect(told.items).toHaveLength(3);
  for (const sandbox of sandboxesOf(told)) {
    await mayfly.sagas.sandboxes.settled(sandbox.id, AbortSignal.timeout(60_000));
    await mayfly.destroy(sandbox.id);
  }
  await deleteSnapshot(taken.id);
});

test('processors, memory and creates per minute count too, and an impossible request is refused for good', async ({
  mayfly,
}) => {
  const large = await projectWith(mayfly, { cpus: 4, memoryMib: 1_024 });
  expect((await large.create({ cpus: 3, memoryMib: 512 })).response.status).toBe(202);
  expect((await large.create({ cpus: 2 })).told).toMatchObject(refused);
  expect((await large.create({ memoryMib: 600 })).told).toMatchObject(refused);
  expect((await large.create({ cpus: 5 })).told).toMatchObject({
    status: 409,
    code: 'quota_exceeded',
    retryable: false,
  });
  expect(await large.used()).toMatchObject({ sandboxes: 1, cpus: 3, memoryMib: 512 });

  const brisk = await projectWith(mayfly, { createsPerMinute: 2 });
  const { told } = await brisk.create();
  await mayfly.destroy(told.id); // its end does not refund the create
  expect((await brisk.create({}, { at: 1 })).response.status).toBe(202);
  const { told: third, response } = await brisk.create();
  expect(third).toMatchObject({ ...refused, detail: expect.stringContaining('new sandboxes within a minute') });
  expect(Number(response.headers.get('Retry-After'))).toBeLessThanOrEqual(60);
  await mayfly.store.projects.change(brisk.id, { limits: NO_LIMITS });
  await eventually(async () => (await brisk.create()).response.status, 202);
});

test('disk bytes of a project are checked at placement, across all its keys', async ({ mayfly }) => {
  const { create, used } = await projectWith(mayfly, { diskBytes: UNMEASURED_BYTES });
  const made = [await create(), await create()];
  for (const { told } of made) await mayfly.sagas.sandboxes.settled(told.id, AbortSignal.timeout(60_000));
  const records = await Promise.all(made.map(({ told }) => mayfly.record(told.id)));
  expect(records.map(({ state }) => state).sort()).toEqual(['failed', 'running']);
  expect(records.find(({ state }) => state === 'failed')).toMatchObject({ failure: { code: 'quota_exceeded' } });
  expect(await used()).toMatchObject({ sandboxes: 1, diskBytes: UNMEASURED_BYTES });
});

/** Makes the pending admissions of a project 15 minutes older. */
async function age(project: string): Promise<void> {
  const admissions = database.collection<{ _id: string; pending: { admittedAt: number }[] }>('admissions');
  const found = await admissions.findOne({ _id: project });
  const pending = (found?.pending ?? []).map((one) => ({ ...one, admittedAt: one.admittedAt - 900_000 }));
  expect(pending).not.toEqual([]);
  await admissions.updateOne({ _id: project }, { $set: { pending } });
}
