import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { sandboxWorkflowId } from '../../../model/sagas/queues.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import type { MachineEndReport } from '../../../model/sandbox/machine-end.ts';
import { eventually } from '../../support/eventually.ts';
import { expectMachineEnded, getMemory } from '../../support/machine-end.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { sweepOn } from '../../support/sweep.ts';

/** Deaths of machines: the host worker watches them, and actions of Mayfly itself do not count as deaths. */
const { test, alone } = useSagaCases({ kind: 'in-memory' });
const sweep = sweepOn(alone);

/** Counts the completed inspections of the machine by its host. */
async function looks(mayfly: MayflyCase, id: string): Promise<number> {
  const { events } = await mayfly.client.workflow.getHandle(sandboxWorkflowId(id)).fetchHistory();
  const of = 'activityTaskCompletedEventAttributes';
  const asked = new Set(
    events
      ?.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'lookAtMachine')
      .map(({ eventId }) => String(eventId)),
  );
  return events?.filter((event) => asked.has(String(event[of]?.scheduledEventId))).length ?? 0;
}

function report(hostId: string | null, reason: MachineEndReport['reason']): MachineEndReport {
  return { hostId: hostId ?? '', reason, seenAt: new Date().toISOString() };
}

describe.concurrent('a machine that dies', () => {
  test('while it is paused', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    await operations.pause(id);
    getMemory(mayfly).die(id, 'crashed');
    await expectMachineEnded(mayfly, id, 'machine_crashed');
  });

  test('while it is hibernated, and loses its memory, ends its sandbox', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    expect(await operations.hibernate(id)).toBeNull();
    getMemory(mayfly).die(id, 'stopped');
    await expectMachineEnded(mayfly, id, 'machine_lost');
  });

  test('while it is created, and its address does not answer', async ({ mayfly }) => {
    const input = mayfly.input({}, { verifySshMs: 600_000 });
    const memory = getMemory(mayfly);
    memory.frozen.add(input.id);
    await mayfly.sagas.sandboxes.create(input);
    await eventually(async () => memory.stateOf(input.id), 'on');
    memory.die(input.id, 'stopped');
    const failed = await mayfly.end(input.id);
    expect(failed).toMatchObject({
      state: 'failed',
      stopReason: 'create-failed',
      failure: { code: 'machine_stopped' },
    });
    expect(unprovenLayers(failed.proof?.observations ?? [])).toEqual([]);
  });

  sweep(['saveSnapshot', 'pause', 'hibernate', 'wake'])(
    'during a %s that hangs: the end does not wait for it',
    async (step, { mayfly, operations }) => {
      const input = mayfly.input({}, { hibernateMs: 3_000 });
      const { id } = await mayfly.create(input);
      if (step === 'wake') await operations.hibernate(id);
      mayfly.arm(`${step}.after=1*hang`, id);
      const begin = {
        saveSnapshot: () => operations.beginSnapshot(id),
        pause: () => operations.beginPause(id, 'pause'),
        hibernate: () => operations.beginPause(id, 'hibernate'),
        wake: () => operations.beginPause(id, 'resume'),
      }[step];
      const operation = await begin?.();
      await operations.beganStep(id, step);
      getMemory(mayfly).die(id, 'crashed');
      await expectMachineEnded(mayfly, id, step === 'wake' ? 'machine_lost' : 'machine_crashed');
      expect(await operations.ended(id, operation ?? '')).toBeNull(); // its workflow has ended, and the record has the reason
    },
  );
});

describe.concurrent('not a death', () => {
  test('is a restore, hibernate, wake or pause', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    await operations.write(id, 'old');
    const snapshot = await operations.snapshot(id);
    expect(await operations.hibernate(id)).toBeNull();
    expect(await operations.resume(id)).toBeNull();
    expect(await operations.pause(id)).toBeNull();
    expect(await operations.resume(id)).toBeNull();
    expect(await operations.restore(id, snapshot.id)).toMatchObject({ failure: null });
    expect(await operations.read(id)).toBe('old');
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', failure: null });
  });

  test('is a report from before a restore that booted the machine again', async ({ mayfly, operations }) => {
    const { id, hostId } = await mayfly.create();
    const snapshot = await operations.snapshot(id);
    mayfly.arm('bootDomain.before=2*error(host_unavailable)', id); // the machine is off for a while
    const { operationId } = await operations.beginRestore(id, snapshot.id, false);
    await mayfly.sagas.sandboxes.reportMachineEnd(id, report(hostId, 'crashed'));
    expect(await operations.ended(id, operationId)).toBeNull();
    await eventually(() => looks(mayfly, id), 1);
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', failure: null });
    await operations.write(id, 'it goes on');
  });

  test('is a false report, or one of another host', async ({ mayfly, operations }) => {
    const { id, hostId } = await mayfly.create();
    await mayfly.sagas.sandboxes.reportMachineEnd(id, report('elsewhere', 'crashed'));
    await mayfly.sagas.sandboxes.reportMachineEnd(id, report(hostId, 'host-restarted'));
    await eventually(() => looks(mayfly, id), 1);
    await operations.write(id, 'it goes on');
    expect(await operations.pause(id)).toBeNull();
  });

  test('is a report about a sandbox without a workflow: it is dropped', async ({ mayfly }) => {
    const { id } = mayfly.input();
    await expect(mayfly.sagas.sandboxes.reportMachineEnd(id, report('test', 'lost'))).resolves.toBeUndefined();
  });
});

alone('what died while its host worker was down is noticed at its start', async ({ mayfly }) => {
  const { id } = await mayfly.create();
  await mayfly.host?.stop();
  getMemory(mayfly).die(id, 'stopped');
  await mayfly.startHost();
  await expectMachineEnded(mayfly, id, 'machine_stopped');
});

alone(
  'a host that restarts ends what ran there as host_restarted; what is hibernated outlives it',
  async ({ mayfly, operations }) => {
    const ids = await Promise.all([1, 2].map(async () => (await mayfly.create()).id));
    const asleep = await mayfly.create();
    await operations.hibernate(asleep.id);
    await mayfly.host?.stop();
    for (const id of ids) getMemory(mayfly).die(id, 'stopped');
    const bootIdFile = join(mayfly.config.stateDir, 'another-boot');
    await writeFile(bootIdFile, 'another\n');
    await mayfly.startHost(bootIdFile);
    for (const id of ids) await expectMachineEnded(mayfly, id, 'host_restarted');
    expect(await operations.resume(asleep.id)).toBeNull();

    // The restart is reported: from now on a death has another cause.
    getMemory(mayfly).die(asleep.id, 'crashed');
    await expectMachineEnded(mayfly, asleep.id, 'machine_crashed');
    await mayfly.host?.stop();
    await mayfly.startHost(bootIdFile);
  },
);
