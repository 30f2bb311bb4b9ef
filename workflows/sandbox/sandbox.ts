import { allHandlersFinished, CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { Proof } from '../../model/sandbox/proof.ts';
import type { Boot, SandboxFailure, StopReason } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { askForTemplate } from '../life/ask-for-template.ts';
import { handleClaims } from '../life/claims.ts';
import { unprovedFailure } from '../life/forgotten.ts';
import { Life } from '../life/life.ts';
import { handlePatches } from '../life/patches.ts';
import { eventIdOf } from '../saga/audit-event.ts';
import { untilContinued } from '../saga/continuing.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { refusedOrFailed } from '../saga/refused.ts';
import { abandonSnapshots } from '../snapshot/abandon-snapshots.ts';
import { createOffline, createSandbox } from './create-sandbox.ts';
import { destroySandbox, proveUndone } from './destroy-sandbox.ts';
import { Operations } from './operations.ts';
import { takeOver } from './take-over-sandbox.ts';

/**
 * One sandbox from its request to the proof that nothing of it is left.
 *
 *   requested → creating → running (operations.ts) → destroying → destroyed
 *                   └──── of a pool: warm → running, when it is claimed (claims.ts)
 *                   └──────────────→ destroying → failed, when the create failed, or the machine died
 *
 * The end comes by a delete, the TTL, the idle timer, or since its machine has died (machine-death.ts); it is heard at any
 * time, also while creating, which it cancels. Where the saga of a sandbox was lost, another one takes it over
 * (take-over-sandbox.ts). The workflow's result is the proof; a failed create fails the workflow, after its cleanup was
 * proved, unless every host refused it.
 */
export async function sandbox(
  input: SandboxInput,
): Promise<(Proof & { refused?: SandboxFailure; died?: SandboxFailure }) | null> {
  const { continued } = input;
  const life = new Life(input);
  handlePatches(life);
  handleClaims(life);
  const operations = new Operations(life, continued?.outcomes);
  await life.begin();
  if (isFinal(life.record.state) && life.foundOn === null) {
    await condition(allHandlersFinished);
    return life.record.proof; // another run has seen to it
  }

  const { isUndone, ...ended } = continued?.ending
    ? { ...continued.ending, isUndone: false }
    : await live(life, operations, input);
  const proof = await provedGone(life, operations, ended.failure, isUndone ? proveUndone : destroySandbox);
  const failure = unprovedFailure(proof) ?? ended.failure;
  await life.recordChange(
    proof.unproved === undefined ? 'sandbox.proof' : 'sandbox.unproved',
    { state: failure ? 'failed' : 'destroyed', failure, proof, waitingFor: null },
    { proof, failure, ...(life.foundOn && { foundOn: life.foundOn.hostId }) },
  );

  await condition(allHandlersFinished);
  if (!failure) return proof;
  if (life.record.stopReason === 'machine-ended') return { ...proof, died: failure }; // its saga did what it is for
  const asking = failure.code === 'template_unavailable' ? ['cloneDisk'] : ['proposeHosts', 'reserve'];
  return refusedOrFailed(failure, asking, { ...proof, refused: failure });
}

/** Until nothing is left but to take away what there is. `isUndone`: its create has failed, and taken it away already. */
async function live(
  life: Life,
  operations: Operations,
  { continued }: SandboxInput,
): Promise<{ failure: SandboxFailure | null; isUndone: boolean }> {
  const end = life.untilEnd();
  const { begins: begin } = life;
  const failed = begin === 'create' && !continued ? await tryCreate(life, end) : null;
  const taken = begin === 'takeOver' && !continued ? await life.death.whileOff(() => takeOver(life, end)) : null;
  if (!failed && !isFinal(life.record.state)) {
    await startEnding(life, taken ? (life.record.stopReason ?? 'lost') : await operations.untilEnd(end));
  }
  if (begin !== 'create') {
    const abandoned = () => abandonSnapshots(life);
    await life.forgotten.unlessForgotten(life.record, abandoned, () => undefined);
  }
  if (taken) return { failure: taken.failure, isUndone: false };
  const failure = failed && !isCancellation(failed) ? failureOf(failed, life.failedStep) : life.death.failure;
  return { failure, isUndone: failed !== null };
}

/** However often that must be tried: it continues as new meanwhile, and goes on with all layers. */
async function provedGone(
  life: Life,
  operations: Operations,
  failure: SandboxFailure | null,
  destroy: (life: Life) => Promise<Proof>,
): Promise<Proof> {
  const close = () => {
    life.isClosing = true;
  };
  const proved = await untilContinued(() => destroy(life), close);
  if (!proved) {
    await life.close();
    return life.continueAsNew({ outcomes: operations.outcomes, ending: { failure } });
  }
  life.isClosing = false;
  return proved.value;
}

/** Creates, unless the end comes first. Returns what went wrong; its undos have run by then. */
async function tryCreate(life: Life, end: Promise<StopReason>): Promise<unknown> {
  const creating = new CancellationScope();
  void end.then(() => creating.cancel());
  const create = life.isOffline ? createOffline : createSandbox;
  try {
    await creating.run(() =>
      create(life, async (cause) => startEnding(life, isCancellation(cause) ? await end : 'create-failed')),
    );
  } catch (error) {
    return error;
  }
  if (life.isOffline) {
    await life.recordChange('sandbox.state');
    return null;
  }
  await recordCreated(life);
  life.used();
  askForTemplate(life);
  return null;
}

/** Its caller's from now on, or its pool's until somebody claims it. */
async function recordCreated(life: Life): Promise<void> {
  const { pool } = life.record;
  const at = now();
  if (pool) await life.recordChange('sandbox.state', { state: 'warm', phase: null, pool: { ...pool, warmAt: at } });
  else await life.recordChange('sandbox.state', { state: 'running', phase: null, runningAt: at, ...bootOf(life) });
}

/** How it came to its machine, where there is a pool of such and none of it could be had. */
function bootOf({ missed, boot }: Life): { boot?: Boot } {
  const { way = 'cold', templateId = null, ageSeconds = null } = boot ?? {};
  return missed ? { boot: { way, why: missed, templateId, ageSeconds } } : {};
}

/** From here on the sandbox only goes away; said before anything of it does. */
async function startEnding(life: Life, reason: StopReason): Promise<void> {
  const { failure } = life.death;
  const why = failure && { failure };
  const isGivenUp = life.forgotten.has(life.record);
  await life.recordChange(
    'sandbox.state',
    { state: 'destroying', phase: null, stopReason: isGivenUp ? 'host-forgotten' : reason, ...why },
    { reason, ...why },
    life.stoppedBy,
  );
  await revokeAll(life);
}

async function revokeAll({ id, stoppedBy }: Life): Promise<void> {
  const eventId = eventIdOf('certificates');
  await controlUntilDone.revokeCertificates({ sandboxId: id, serials: 'every', actor: stoppedBy, at: now(), eventId });
}
