import { expect } from 'vitest';
import { sendSignal } from '../../../host/os/proc.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { processesOf } from '../../support/processes-of.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test } = useSagaCases();

/** Kills all processes of a machine at once, as a crash does. */
async function kill(folder: string, id: string): Promise<void> {
  for (const pid of await processesOf(folder, id)) sendSignal(pid, 'SIGKILL');
}

test('a process tree that dies ends its sandbox, and its open commands as unknown', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  const command = await operations.door.run(id, { command: 'sleep 600' }, 0);
  await operations.door.until(command, ({ state }) => state === 'running');
  await kill(mayfly.config.stateDir, id);
  const failed = await mayfly.end(id);
  expect(failed).toMatchObject({
    state: 'failed',
    stopReason: 'machine-ended',
    failure: { code: 'machine_stopped', message: expect.stringContaining(`${id} on host test: at `) },
  });
  expect(unprovenLayers(failed.proof?.observations ?? [])).toEqual([]);
  expect(await operations.door.ended(command)).toMatchObject({ outcome: 'unknown' });
});
