import { allHandlersFinished, condition, log } from '@temporalio/workflow';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { Proof } from '../../model/sandbox/proof.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { getHost, isFinal } from '../../model/sandbox/sandbox-state.ts';
import { handleClaims } from '../entity/claims.ts';
import { watchDeadline } from '../entity/deadline.ts';
import { isDecommissioned, unlessDecommissioned } from '../entity/decommissioned-hosts.ts';
import { SandboxEntity } from '../entity/entity.ts';
import { handleMachineDeath } from '../entity/machine-death.ts';
import { handleMessages } from '../entity/messages.ts';
import { handleSpecUpdates } from '../entity/spec-updates.ts';
import { eventIdOf } from '../saga/audit-event.ts';
import { runUntil } from '../saga/cancellation.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import { controlUntilDone, queuedControl } from '../saga/control.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { notifyParent, notifySubscribers } from '../saga/subscription.ts';
import { failUnfinishedSnapshots } from '../snapshot/fail-unfinished-snapshots.ts';
import { adoptSandbox } from './adopt-sandbox.ts';
import { createOffline, createSandbox } from './create-sandbox.ts';
import { destroySandbox, proveCompensated } from './destroy-sandbox.ts';
import { handleOperations, performOperations, requestHibernation } from './operations.ts';
import { compensateLater } from './placement.ts';

/**
 * Runs one sandbox from its request to the proof that nothing of it is left.
 *
 *   requested → creating → running (operations.ts) → destroying → destroyed
 *                   └──── of a pool: warm → running, when it is claimed (claims.ts)
 *                   └──────────────→ destroying → failed, when the create failed, or the machine died
 *
 * The end comes by a delete, the TTL, the idle timer or the death of its machine (machine-death.ts). It is handled in
 * every state, and cancels operations. When a sandbox's workflow is lost, another adopts the sandbox
 * (adopt-sandbox.ts). The result is the proof; a failed create fails the workflow, after its cleanup was proved, unless
 * every host refused it.
 */
export async function sandbox(
  input: SandboxInput,
): Promise<(Proof & { refused?: SandboxFailure; died?: SandboxFailure }) | null> {
  const entity = new SandboxEntity(input);
  const { state } = entity;
  const isEnding = state.end !== null; // set in an earlier run: signals to this one are not handled yet
  handleMessages(entity);
  handleSpecUpdates(entity);
  handleClaims(entity);
  handleOperations(entity);
  handleMachineDeath(entity);
  await entity.begin();
  if (isFinal(entity.record.state) && !input.foundOn) {
    await notifySubscribers(state.subscribers);
    await condition(allHandlersFinished);
    return entity.record.proof; // another run has ended it
  }

  const isCompensated = !isEnding && (await live(entity));
  const proof = await proveAbsence(entity, isCompensated ? proveCompensated : destroySandbox);
  const failure = unprovedFailure(proof) ?? state.end?.failure ?? null;
  await entity.recordChange(
    proof.unproved === undefined ? 'sandbox.proof' : 'sandbox.unproved',
    { state: failure ? 'failed' : 'destroyed', failure, proof, waitingFor: null },
    { proof, failure, ...(input.foundOn && { foundOn: input.foundOn.hostId }) },
  );

  await notifySubscribers(state.subscribers);
  await condition(allHandlersFinished);
  if (!failure) return proof;
  if (entity.record.stopReason === 'machine-ended') return { ...proof, died: failure }; // its workflow did its job
  const refusableSteps = failure.code === 'template_unavailable' ? ['cloneDisk'] : ['proposeHosts', 'reserve'];
  return refusedOrFailed(failure, refusableSteps, { ...proof, refused: failure });
}

/** Runs until only the removal is left. @returns true when its create has failed and is compensated */
async function live(entity: SandboxEntity): Promise<boolean> {
  const { state, begins, input } = entity;
  const begin = input.continued ? null : begins;
  void watchDeadline(entity, () => requestHibernation(entity));
  for (const host of state.uncompensated) compensateLater(entity, host);
  if (begin === 'create' && !(await tryCreate(entity))) return true;
  if (begin === 'takeOver') await adoptSandbox(entity);
  if (!isFinal(entity.record.state)) {
    await performOperations(entity);
    await startEnding(entity);
  }
  if (begins !== 'create') {
    await unlessDecommissioned(entity, entity.record, () => failUnfinishedSnapshots(entity));
  }
  return false;
}

/** Proves its absence, retried across continue-as-new with all layers. */
async function proveAbsence(entity: SandboxEntity, destroy: (entity: SandboxEntity) => Promise<Proof>): Promise<Proof> {
  for (;;) {
    const proved = await runUntil(shouldContinueAsNew, () => destroy(entity));
    if (proved) return proved.value;
    await entity.continueAsNew();
  }
}

/** Creates it, unless the end comes first. @returns false when it is not created, and is compensated */
async function tryCreate(entity: SandboxEntity): Promise<boolean> {
  const beforeUndo = (cause: unknown) => {
    entity.terminate({ reason: 'create-failed', actor: null, failure: failureOf(cause, entity.failedStep) });
    return startEnding(entity);
  };
  const create = entity.isOffline ? createOffline : createSandbox;
  try {
    if (!(await entity.untilEnd(() => create(entity, beforeUndo)))) return false;
  } catch {
    return false; // the end has its failure
  }
  if (entity.isOffline) await entity.recordChange('sandbox.state');
  else {
    await recordCreated(entity);
    requestTemplate(entity);
  }
  void notifyParent();
  void notifySubscribers(entity.state.subscribers);
  return true;
}

/** Hands it to its caller, or to its pool until a claim. */
async function recordCreated(entity: SandboxEntity): Promise<void> {
  const { pool } = entity.record;
  const at = now();
  if (pool) await entity.recordChange('sandbox.state', { state: 'warm', phase: null, pool: { ...pool, warmAt: at } });
  else await entity.recordChange('sandbox.state', { state: 'running', phase: null, runningAt: at });
  entity.state.usedAt = Date.now();
}

/**
 * Requests a template after a create that booted for lack of one. A failure is ignored: the next create requests again.
 */
function requestTemplate({ id, templateKey, record }: SandboxEntity): void {
  const host = getHost(record);
  if (templateKey === null || host === null || record.boot?.way !== 'cold') return;
  const { project, createdBy: actor, spec } = record;
  const { source, cpus, memoryMib } = spec;
  const input = { ...host, templateKey, project, source, cpus, memoryMib, actor };
  queuedControl
    .wantTemplate({ input, wish: { installationId: host.installationId } })
    .catch((error: unknown) => log.warn('a template was not asked for', { sandboxId: id, why: String(error) }));
}

/** Records the end before anything is removed. */
async function startEnding(entity: SandboxEntity): Promise<void> {
  const { id, state, record } = entity;
  const { reason, actor, failure } = state.end ?? { reason: 'lost', actor: null, failure: null };
  const died = reason === 'machine-ended' && failure && { failure };
  await entity.recordChange(
    'sandbox.state',
    {
      state: 'destroying',
      phase: null,
      stopReason: isDecommissioned(entity, record) ? 'host-forgotten' : reason,
      ...died,
    },
    { reason, ...died },
    actor,
  );
  const eventId = eventIdOf('certificates');
  await controlUntilDone.revokeCertificates({ sandboxId: id, serials: 'every', actor, at: now(), eventId });
}

/** Returns the failure of a sandbox whose absence could not be proved entirely. */
function unprovedFailure({ unproved }: Proof): SandboxFailure | null {
  return unproved === undefined ? null : { code: 'host_forgotten', step: 'lookAgain', message: unproved };
}
