import { allHandlersFinished, CancellationScope, condition, isCancellation, patched } from '@temporalio/workflow';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { Proof } from '../../model/sandbox/proof.ts';
import { isFinal, type SandboxFailure, type StopReason } from '../../model/sandbox/sandbox.ts';
import { Life } from '../life/life.ts';
import { eventIdOf } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { refusedOrFailed } from '../saga/refused.ts';
import { abandonSnapshots } from '../snapshot/abandon-snapshots.ts';
import { createBySteps } from './create-by-steps.ts';
import { createSandbox } from './create-sandbox.ts';
import { destroySandbox, proveUndone } from './destroy-sandbox.ts';
import { Operations } from './operations.ts';
import { takeOver } from './take-over-sandbox.ts';

/**
 * One sandbox from its request to the proof that nothing of it is left.
 *
 *   requested → creating → running (operations.ts) → destroying → destroyed
 *                   └──────────────→ destroying → failed, when the create failed
 *
 * The end comes by a delete, the TTL or the idle timer; it is heard at any time, also while creating, which it
 * cancels. Where the saga of a sandbox was lost, another one takes it over (take-over-sandbox.ts). The workflow's
 * result is the proof; a failed create fails the workflow, after its cleanup was proved, unless every host refused it.
 */
export async function sandbox(input: SandboxInput): Promise<(Proof & { refused?: SandboxFailure }) | null> {
  const life = new Life(input);
  const operations = new Operations(life);
  await life.begin();
  if (hasEnded(life, input)) return life.record.proof;
  const end = life.untilEnd();

  const failed = input.begin === 'create' ? await tryCreate(life, end) : null;
  const lost = input.begin === 'takeOver' ? await takeOver(life, end) : null;
  if (lost) await startEnding(life, life.record.stopReason ?? 'lost');
  else if (wasEnding(life, input)) await startEnding(life, life.record.stopReason ?? 'lost');
  else if (!failed) await startEnding(life, await operations.untilEnd(end));
  if (input.begin !== 'create' && patched('half-made-snapshots')) await abandonSnapshots(life);
  const proof = failed ? await proveUndone(life) : await destroySandbox(life);
  const failure = lost ?? (failed && !isCancellation(failed) ? failureOf(failed, life.failedStep) : null);
  await life.recordChange(
    'sandbox.proof',
    { state: failure ? 'failed' : 'destroyed', failure, proof, waitingFor: null },
    { proof, failure, ...(life.foundOn !== null && { foundOn: life.foundOn }) },
  );

  await condition(allHandlersFinished);
  return failure ? refusedOrFailed(failure, ['proposeHosts', 'reserve'], { ...proof, refused: failure }) : proof;
}

/** It was seen to its end by another while this one began, and nothing of it was found since. */
function hasEnded({ record, foundOn }: Life, { begin }: SandboxInput): boolean {
  return begin === 'takeOver' && foundOn === null && isFinal(record.state);
}

function wasEnding({ record }: Life, { begin }: SandboxInput): boolean {
  return begin === 'takeOver' && record.state === 'destroying';
}

/** Creates, unless the end comes first. Returns what went wrong; its undos have run by then. */
async function tryCreate(life: Life, end: Promise<StopReason>): Promise<unknown> {
  const creating = new CancellationScope();
  void end.then(() => creating.cancel());
  const create = life.hasMultiStepCreate ? createSandbox : createBySteps;
  try {
    await creating.run(() =>
      create(life, async (cause) => startEnding(life, isCancellation(cause) ? await end : 'create-failed')),
    );
  } catch (error) {
    return error;
  }
  await life.recordChange('sandbox.state', { state: 'running', phase: null, runningAt: now() });
  life.used();
  return null;
}

/** From here on the sandbox only goes away; said before anything of it does. */
async function startEnding(life: Life, reason: StopReason): Promise<void> {
  await life.recordChange(
    'sandbox.state',
    { state: 'destroying', phase: null, stopReason: reason },
    { reason },
    life.stoppedBy,
  );
  // Lives that began before certificates were recorded have none to revoke.
  if (patched('certificates-end-with-the-sandbox')) await revokeAll(life);
}

async function revokeAll({ id, stoppedBy }: Life): Promise<void> {
  const eventId = eventIdOf('certificates');
  await controlUntilDone.revokeCertificates({ sandboxId: id, serials: 'every', actor: stoppedBy, at: now(), eventId });
}
