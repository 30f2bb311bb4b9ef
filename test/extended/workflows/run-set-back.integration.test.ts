import { expect } from 'vitest';
import { beginRun } from '../../../activities/function/begin-run.ts';
import { deriveAttemptIds } from '../../../model/functions/run.ts';
import { runWorkflowId } from '../../../model/functions/run-saga.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { lostRunsProbe } from '../../../worker/doctor/lost-runs.ts';
import { ProbeContext } from '../../../worker/doctor/surroundings.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { TestFunctions } from '../../support/functions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { useDatabase } from '../../support/use-database.ts';

const { alone: test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);
const collection = useDatabase(all);

test('59: the store is set back to before a run: its sandbox is destroyed and proved, and doctor reports the loss', async () => {
  const { id } = await functions.trigger(await functions.deploy('echo hello; sleep 5'));
  await functions.greets(id);
  const { sandboxId, commandId } = deriveAttemptIds(id, 1);
  for (const [name, of] of Object.entries({ runs: id, sandboxes: sandboxId, commands: commandId })) {
    await collection(name).deleteOne({ _id: of });
  }
  const workflow = all().client.workflow.getHandle(runWorkflowId(id));
  await new ControlTemporalClient(all().client).sandboxes.restoreRecord(sandboxId);
  await expect(workflow.result()).rejects.toMatchObject({ cause: { type: 'run_not_found' } });
  const sandbox = await all().store.sandboxes.get(sandboxId);
  expect(sandbox).toMatchObject({ state: 'destroyed', proof: { sandboxId } });
  expect(sandbox?.proof).not.toHaveProperty('unproved');
  const surroundings = await ProbeContext.of(all().config);
  try {
    const looked = () => lostRunsProbe(surroundings).look();
    const [check] = await eventually(looked, ([first]) => first?.found.includes(id) === true);
    expect(check).toMatchObject({ ok: false, found: expect.stringContaining('their events are lost') });
  } finally {
    await surroundings.close();
  }
});

test('59: a record is set back to queued: the run ends as its process did, once, without residue', async () => {
  const name = await functions.deploy('echo hello; sleep 4; echo 1 > $MAYFLY_RESULT');
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  const backup = await collection('runs').findOne({ _id: id });
  await functions.resume(name);
  await functions.greets(id);
  await functions.pause(name);
  await collection('runs').replaceOne({ _id: id }, backup ?? {});
  const over = await functions.over({ id });
  expect(over).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', result: { bytes: 2 }, attempts: [{ n: 1 }] });
  expect(await functions.output(id)).toBe('hello\n');
});

test('59: a record is set back to queued after its run ended: the run does not start again', async () => {
  const name = await functions.deploy('true');
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  const backup = await collection('runs').findOne({ _id: id });
  await functions.resume(name);
  await functions.over({ id });
  await all().client.workflow.getHandle(runWorkflowId(id)).result();
  await collection('runs').replaceOne({ _id: id }, backup ?? {});
  await all().store.runQueue.admit(
    (await all().store.runs.get(id)) ?? never(id),
    { concurrency: [], throttle: null },
    new Date().toISOString(),
  );
  const reconciliation = new ControlTemporalClient(all().client);
  await beginRun({ store: all().store, reconciliation }, (await all().store.runs.get(id)) ?? never(id));
  expect(await functions.get(id)).toMatchObject({
    state: 'ended',
    outcome: 'unknown',
    cleanup: 'proved',
    attempts: [],
    failure: { code: 'run_interrupted' },
  });
});

function never(id: string): never {
  throw new Error(`${id} is gone`);
}
