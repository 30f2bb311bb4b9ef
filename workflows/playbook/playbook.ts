import { defineSignal, setHandler } from '@temporalio/workflow';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import { CANCEL_PLAYBOOK, type PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { control } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga } from '../saga/saga.ts';
import { runTaskCommand } from '../source/task-command.ts';
import { taskSteps } from '../source/task-life.ts';
import { TaskSandbox } from '../source/task-sandbox.ts';
import { PlaybookTask } from './playbook-life.ts';
import { PlaybookSnapshots } from './playbook-snapshots.ts';

const cancel = defineSignal<[Actor]>(CANCEL_PLAYBOOK);

/** Timeout of the whole playbook. */
const LONGEST = '3h';
/** Profile of a step: a comparison takes up to two minutes; reading, writing and copying into a guest use the rest. */
const STEP = PROFILE.work(20 * MINUTE_MS);

/** Recorded end of a playbook. */
type Checked = { state: 'checked' | 'unchecked'; unchecked: string | null };
type Ending = Checked | Pick<PlaybookRecord, 'state' | 'failure'>;

/**
 * Writes a playbook of the changes in a sandbox, and checks it:
 *
 *   snapshot of the sandbox → fresh sandbox of the same base → its snapshot → playbook written from their differences →
 *   copied into the fresh sandbox and run, twice → snapshot → compared with the first
 *
 * However it ends, the fresh sandbox is destroyed with proof, and the snapshots are deleted.
 */
export async function playbook(input: PlaybookInput): Promise<void> {
  const life = new PlaybookTask(input);
  let isCancelled = false;
  const cancelMaking = () => {
    isCancelled = true;
  };
  setHandler(cancel, cancelMaking);
  whenCancelled(cancelMaking);
  const { base, checker } = input;
  const asked = { base, checkerId: checker.id };
  if (await life.recordChange({}, { kind: 'playbook.requested', detail: asked })) return;
  const end = (how: Ending) =>
    life.recordChange({ ...how, waitingFor: null, endedAt: now() }, { kind: 'playbook.ended', detail: { ...how } });
  const made = await life.runWithin(
    LONGEST,
    () => isCancelled,
    () => make(life),
  );
  if ('value' in made) await end(made.value);
  else await end({ state: made.failure ? 'failed' : 'cancelled', failure: made.failure });
}

/** Makes and checks the playbook; its sandbox and snapshots are removed in any case. */
function make(life: PlaybookTask): Promise<Checked> {
  const { sandboxId, checker: input } = life.input;
  const checker = new TaskSandbox(input, 'playbook_failed');
  const snapshots = new PlaybookSnapshots(life);
  const destroyChecker = () => life.retryUntilDone('destroyChecker', () => checker.destroy());
  return saga(async (undo) => {
    undo('takeSnapshots', () => snapshots.release());
    undo('startChecker', destroyChecker); // first, for a workflow reset and cancelled before this step
    const before = await snapshots.take('now', sandboxId);
    await life.step('startChecker', () => checker.start());
    const fresh = await snapshots.take('fresh', input.id);
    await write(life, fresh, before);
    const checked = await check(life, snapshots, { fresh, now: before });
    await destroyChecker();
    await snapshots.release();
    return checked;
  });
}

function stepsOf(life: PlaybookTask) {
  const { host, playbookId } = life.input;
  const target = { sandboxId: playbookId, playbookId, describedId: life.input.sandboxId };
  return taskSteps(life, host, target, { ...STEP, summary: playbookId });
}

async function write(life: PlaybookTask, before: string, after: string): Promise<void> {
  await life.recordChange({ state: 'writing' });
  const step = stepsOf(life);
  const { since, base } = life.input;
  const written = await step.writePlaybook({ since, base, before, after });
  await life.recordChange({ written, state: 'checking' });
}

async function check(
  life: PlaybookTask,
  snapshots: PlaybookSnapshots,
  compared: { fresh: string; now: string },
): Promise<Checked> {
  const { playbookId, checker, actor } = life.input;
  const checkerId = checker.id;
  const step = stepsOf(life);
  const endUnchecked = async (why: string): Promise<Checked> => {
    await step.explainPlaybook({ why });
    return { state: 'unchecked', unchecked: why };
  };
  const { ansible } = await step.placePlaybook({ checkerId });
  if (ansible === null) {
    return endUnchecked('Ansible is not on its host: `npm run setup -- --only ansible` makes it there');
  }
  const begun = await life.step('runAnsible', () => control.beginPlaybookCheck({ playbookId, checkerId, actor }));
  await life.step('runAnsible', () => runTaskCommand(begun, `${playbookId} in ${checkerId}`));
  const { runs, why } = await control.playbookRuns({ playbookId });
  if (why !== null) return endUnchecked(why);
  const applied = await snapshots.take('applied', checkerId);
  const found = await step.comparePlaybook({ ...compared, applied, ansible, runs });
  await life.recordChange({ check: found });
  return { state: 'checked', unchecked: null };
}
