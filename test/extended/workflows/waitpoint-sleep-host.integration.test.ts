import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { sendSignal } from '../../../host/os/proc.ts';
import { repeating } from '../../../host/os/repeating.ts';
import { Reconciliation } from '../../../sagas/reconciliation.ts';
import { LOOK_AT_QUEUES_EVERY_MS, RunQueues } from '../../../worker/upkeep/run-queues.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import { processesOf } from '../../support/processes-of.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { letSleep } from '../../support/sleeping-host.ts';
import { TestWaitpoints } from '../../support/waitpoints.ts';

/** Promise: a run whose machine sleeps goes on in one process, or ends with a reason, whatever becomes of its host meanwhile. Costs two minutes. */
const { alone: test, mayfly: all } = useSagaCases();
let door: TestDoor;
let functions: TestFunctions;
let waitpoints: TestWaitpoints;
let stopLooking: () => Promise<void>;
const asleep = new Set<string>();
const sleepy = () => letSleep(all().machine().hypervisor, all().failpoints, asleep);
beforeAll(async () => {
  sleepy();
  door = await TestDoor.open(all());
  functions = new TestFunctions(door);
  waitpoints = new TestWaitpoints(door);
  const queues = new RunQueues(all().store, new Reconciliation(all().client), pino({ level: 'silent' }));
  stopLooking = repeating(() => queues.look(), LOOK_AT_QUEUES_EVERY_MS); // as the control worker does
});
afterAll(async () => {
  await stopLooking();
  door.close();
});

const WAITS = 'echo before $$; "$MAYFLY_WAIT" it; echo after $$';
const sandboxOf = ({ attempts }: Run) => attempts.at(-1)?.sandboxId ?? '';
const deploy = (command: string, wait: object = {}, more: object = {}) =>
  functions.deploy(command, { wait: { hibernateAfterSeconds: 1, ...wait }, ...more });
const waiting = ({ id }: Pick<Run, 'id'>) => functions.until(id, ({ waitingFor }) => waitingFor === 'waitpoint');

async function sleeping({ id }: Pick<Run, 'id'>): Promise<Run> {
  const run = await functions.until(id, ({ state, waiting: w }) => state === 'ended' || w?.hibernatedAt != null);
  expect(run).toMatchObject({ state: 'running' });
  await all().until(sandboxOf(run), ({ state }) => state === 'hibernated');
  return run;
}
async function complete(run: Pick<Run, 'id'>, data: unknown = 7, name = 'it'): Promise<void> {
  expect(await waitpoints.complete(await waitpoints.token(run.id, { name }), data)).toEqual({ status: 200 });
}
/** How often its machine was hibernated, and woken. */
async function sleeps(run: Run): Promise<[number, number]> {
  const entries = await all().store.audit.entries(sandboxOf(run), { limit: 200 });
  const kinds = entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
  const count = (wanted: string) => kinds.filter((kind) => kind === wanted).length;
  return [count('sandbox.hibernated'), count('sandbox.resumed')];
}
/** In the one process that was started for it. */
async function expectGoneOn(run: Pick<Run, 'id'>): Promise<void> {
  const over = await functions.over(run);
  expect(over).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', waitingFor: null, attempts: [{ n: 1 }] });
  const said = /^before (\d+)\n7\nafter (\d+)\n$/.exec(await functions.output(run.id));
  expect(said?.[1]).toBe(said?.[2]);
  expect(await sleeps(over)).toEqual([1, 1]);
}
/** The host comes up with another boot. @param lost whose memory was not on its disk */
async function reboot(lost: string[] = []): Promise<void> {
  const { stateDir } = all().config;
  await all().host?.stop();
  for (const id of lost) for (const pid of await processesOf(stateDir, id)) sendSignal(pid, 'SIGKILL');
  const bootId = join(stateDir, `boot-${randomUUID()}`);
  await writeFile(bootId, `${randomUUID()}\n`);
  await all().startHost(bootId);
  sleepy();
}

test('56: its host is rebooted: one whose memory is on its disk is woken by what comes, one whose is not ends as unknown', async () => {
  const long = { timeoutSeconds: 600_000 };
  const wait = '"$MAYFLY_WAIT" it --timeout 259200';
  const kept = await sleeping(await functions.trigger(await deploy(WAITS, {}, long)));
  const lost = await sleeping(await functions.trigger(await deploy(wait, {}, long)));
  const waitpoint = await waitpoints.token(lost.id, { name: 'it' });
  await reboot([sandboxOf(lost)]);
  const over = await functions.over(lost);
  expect(over).toMatchObject({ outcome: 'unknown', cleanup: 'proved', waitingFor: null });
  expect(over.failure).toMatchObject({
    code: 'run_interrupted',
    message: expect.stringContaining('its host had restarted'),
  });
  expect(await all().record(sandboxOf(lost))).toMatchObject({ failure: { code: 'host_restarted' } });
  expect(await waitpoints.complete(waitpoint, 1)).toEqual({ status: 410, code: 'waitpoint_expired' });
  expect(await functions.get(kept.id)).toMatchObject({
    state: 'running',
    waiting: { hibernatedAt: expect.any(String) },
  });
  await complete(kept);
  await expectGoneOn(kept);
});

test('its host has no room for it when it is to wake: it says so, and wakes when there is', async ({ mayfly }) => {
  const run = await sleeping(await functions.trigger(await deploy(WAITS)));
  const { ledger, hypervisor } = all().machine();
  const other = mayfly.input().id;
  const capacity = await hypervisor.capacity();
  const memoryMib = capacity.memoryTotalMib;
  await ledger.reserve(
    { sandboxId: other, memoryMib, diskBytes: 0 },
    { ...capacity, memoryAvailableMib: memoryMib * 2 },
  );
  await complete(run);
  const held = await functions.until(run.id, ({ waitingFor }) => waitingFor === 'capacity');
  expect(held).toMatchObject({ state: 'running', waiting: { hibernatedAt: expect.any(String) } });
  expect(await sleeps(held)).toEqual([1, 0]);
  await ledger.release(other);
  await expectGoneOn(run);
});

test('its host worker is killed while it is hibernated: it goes on with that, and then where it was', async () => {
  const run = await waiting(await functions.trigger(await deploy(WAITS, { hibernateAfterSeconds: 3 })));
  const id = sandboxOf(run);
  all().failpoints.arm('hibernate.during=1*hang', id);
  await functions.until(run.id, ({ waiting: w }) => w?.hibernatedAt != null);
  await eventually(
    async () => (await all().machine().hypervisor.whereabouts(id)).domain,
    (domain) => domain === 'paused',
  );
  await all().host?.stop();
  await all().startHost();
  sleepy();
  await sleeping(run);
  all().failpoints.arm(undefined, id);
  await complete(run);
  await expectGoneOn(run);
});

test('its host worker is killed while it is woken: it goes on with that, once', async () => {
  const run = await sleeping(await functions.trigger(await deploy(WAITS)));
  const id = sandboxOf(run);
  all().failpoints.arm('wake.during=1*hang', id);
  await complete(run);
  await eventually(
    async () => asleep.has(id),
    (isThere) => !isThere, // its wake has begun
  );
  await all().host?.stop();
  await all().startHost();
  sleepy();
  await expectGoneOn(run);
  all().failpoints.arm(undefined, id);
});

test('its machine is lost while others have its slot: its next attempt waits for that, and has it then', async () => {
  const command =
    'case "$(cat)" in *waits*) "$MAYFLY_WAIT" it ;; *) "$MAYFLY_WAIT" go ;; esac; echo attempt $MAYFLY_ATTEMPT';
  const rules = {
    concurrency: [{ limit: 1 }],
    idempotent: true,
    retry: { maxAttempts: 2, backoff: { initialSeconds: 0 } },
  };
  const name = await deploy(command, { releaseSlot: true }, rules);
  const first = await sleeping(await functions.trigger(name, 'waits'));
  await functions.until(first.id, ({ waiting: w }) => w?.slot === 'released');
  await functions.deployAs(name, command, { wait: { hibernateAfterSeconds: null }, ...rules });
  const second = await waiting(await functions.trigger(name, 'second'));
  await all().destroy({ ...all().input(), id: sandboxOf(first) });
  const queued = await functions.until(first.id, ({ waiting: w, state }) => w?.slot === 'queued' || state === 'queued');
  expect(queued.attempts).toMatchObject([{ n: 1, outcome: 'unknown', cleanup: 'proved' }]);
  await functions.until(first.id, ({ waitingFor }) => waitingFor === 'concurrency');
  expect(await functions.get(second.id)).toMatchObject({ state: 'running' });
  await complete(second, 1, 'go');
  expect(await functions.over(second)).toMatchObject({ outcome: 'succeeded' });
  await complete(first);
  const over = await functions.over(first);
  expect(over).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', attempts: [{ n: 1 }, { n: 2 }] });
  expect(await functions.output(first.id)).toBe('7\nattempt 2\n');
  const [, again] = over.attempts;
  const ended = (await functions.get(second.id)).endedAt ?? '';
  expect(Date.parse(again?.begunAt ?? '')).toBeGreaterThanOrEqual(Date.parse(ended));
});
