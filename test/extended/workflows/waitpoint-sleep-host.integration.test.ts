import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sendSignal } from '../../../host/os/proc.ts';
import { eventually } from '../../support/eventually.ts';
import type { Run } from '../../support/functions.ts';
import { processesOf } from '../../support/processes-of.ts';
import { useSleepingRuns, WAITS } from '../../support/sleeping-runs.ts';

/**
 * Promise: a run whose machine is hibernated continues in one process, or ends with a reason, after any fault of its
 * host. Costs two minutes.
 */
const { alone: test, mayfly: all, functions, waitpoints, ...sleeping } = useSleepingRuns();
const { asleep, sandboxOf, deploy, awaitSleep, startSleeping, complete, countSleeps, expectResumed } = sleeping;
const waiting = ({ id }: Pick<Run, 'id'>) => functions.until(id, ({ waitingFor }) => waitingFor === 'waitpoint');

async function expectGoneOn(run: Pick<Run, 'id'>): Promise<void> {
  expect(await countSleeps(await expectResumed(run))).toEqual([1, 1]);
}
/** Restarts the host with another boot id. @param lost sandboxes whose memory was not on disk */
async function reboot(lost: string[] = []): Promise<void> {
  const { stateDir } = all().config;
  await all().host?.stop();
  for (const id of lost) for (const pid of await processesOf(stateDir, id)) sendSignal(pid, 'SIGKILL');
  const bootId = join(stateDir, `boot-${randomUUID()}`);
  await writeFile(bootId, `${randomUUID()}\n`);
  await all().startHost(bootId);
}

test('56: a host reboots: a run whose memory is on disk is resumed by its data, another ends as unknown', async () => {
  const long = { timeoutSeconds: 600_000 };
  const wait = '"$MAYFLY_WAIT" it --timeout 259200';
  const kept = await startSleeping(WAITS, {}, long);
  const lost = await startSleeping(wait, {}, long);
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

test('a host without capacity at the wake: the run reports it, and resumes when there is some', async ({ mayfly }) => {
  const run = await startSleeping(WAITS);
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
  expect(await countSleeps(held)).toEqual([1, 0]);
  await ledger.release(other);
  await expectGoneOn(run);
});

test('a host worker is killed during a hibernate: it finishes that, and the run continues', async () => {
  const run = await waiting(await functions.trigger(await deploy(WAITS, { hibernateAfterSeconds: 3 })));
  const id = sandboxOf(run);
  all().failpoints.arm('hibernate.during=1*hang', id);
  await functions.until(run.id, ({ waiting: w }) => w?.hibernatedAt != null);
  await eventually(async () => (await all().machine().hypervisor.whereabouts(id)).domain, 'paused');
  await all().host?.stop();
  await all().startHost();
  await awaitSleep(run);
  all().failpoints.arm(undefined, id);
  await complete(run);
  await expectGoneOn(run);
});

test('a host worker is killed during a wake: it finishes that, once', async () => {
  const run = await startSleeping(WAITS);
  const id = sandboxOf(run);
  all().failpoints.arm('wake.during=1*hang', id);
  await complete(run);
  await eventually(
    async () => asleep.has(id),
    (isThere) => !isThere, // its wake has started
  );
  await all().host?.stop();
  await all().startHost();
  await expectGoneOn(run);
  all().failpoints.arm(undefined, id);
});

test('a machine is lost while others have its slot: the next attempt waits for the slot, and gets it', async () => {
  const command =
    'case "$(cat)" in *waits*) "$MAYFLY_WAIT" it ;; *) "$MAYFLY_WAIT" go ;; esac; echo attempt $MAYFLY_ATTEMPT';
  const rules = {
    concurrency: [{ limit: 1 }],
    idempotent: true,
    retry: { maxAttempts: 2, backoff: { initialSeconds: 0 } },
  };
  const name = await deploy(command, { releaseSlot: true }, rules);
  const first = await awaitSleep(await functions.trigger(name, 'waits'));
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
