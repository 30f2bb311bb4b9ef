import { condition, setHandler } from '@temporalio/workflow';
import { ID_BYTES, operationIdFrom } from '../../model/ids.ts';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import { isSuspended } from '../../model/sandbox/sandbox-state.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { OperationRun } from '../entity/operation-run.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { runUntil } from '../saga/cancellation.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import { causeOf, failureOf, refusal, sandboxEndedFailure } from '../saga/failure.ts';
import { layerDeleted, operate, operated } from '../saga/messages.ts';
import { flattenDisks, needsFlatten } from '../snapshot/flatten-disks.ts';
import { takeSnapshot } from '../snapshot/take-snapshot.ts';
import { hibernateSandbox, wakeSandbox } from './hibernate-sandbox.ts';
import { pauseSandbox, resumeSandbox, resumeWithSpace, suspendForSpace } from './pause-sandbox.ts';
import { restoreSandbox } from './restore-sandbox.ts';

/** Number of outcomes kept: a client repeats a request within a day, and only recent ones. */
const MAX_OUTCOMES = 100;

/**
 * Handles requests for operations: snapshots, restores, pauses, hibernation. They run one at a time, and never during
 * the end.
 */
export function handleOperations(entity: SandboxEntity): void {
  setHandler(layerDeleted, () => {
    entity.state.hasDeletedLayer = true;
  });
  setHandler(operate, (operation) => requestOperation(entity, operation), {
    validator: (operation) => {
      entity.checkOpen();
      check(entity, operation);
    },
  });
  const awaitReport = async (operationId: string) => {
    const report = (await findUnderWay(entity, operationId)?.report(true)) ?? findPast(entity, operationId);
    if (!report) throw refusal('not_found', `${entity.id} knows of no operation ${operationId}.`);
    return report;
  };
  setHandler(operated, awaitReport, { validator: (_operationId) => entity.checkOpen() });
}

/** Hibernates an idle sandbox. Refused during another operation: the next idle timeout retries. */
export function requestHibernation(entity: SandboxEntity): void {
  const operationId = operationIdFrom(Uint8Array.from({ length: ID_BYTES }, () => Math.random() * 256));
  requestOperation(entity, { kind: 'hibernate', operationId, actor: null }).catch(() => undefined);
}

/** Performs requested operations until the sandbox ends; continues as new between two of them. */
export async function performOperations(entity: SandboxEntity): Promise<void> {
  while (entity.state.end === null) {
    await awaitNext(entity, () => entity.state.end !== null || entity.operation !== null || shouldContinueAsNew());
    if (entity.state.end !== null) break;
    if (entity.operation) await performOperation(entity, entity.operation);
    else await entity.continueAsNew();
  }
  entity.operation?.end(sandboxEndedFailure(entity));
}

/** Waits for the next operation, flattening disks when due; the operation cancels that. */
async function awaitNext(entity: SandboxEntity, isNext: () => boolean): Promise<void> {
  let isDue = needsFlatten(entity);
  while (!isNext()) {
    if (isDue) await runUntil(isNext, () => flattenDisks(entity));
    isDue = true;
    await condition(() => isNext() || (entity.state.hasDeletedLayer && needsFlatten(entity)));
  }
}

async function performOperation(entity: SandboxEntity, run: OperationRun): Promise<void> {
  const { state } = entity;
  try {
    const done = await entity.perform(run.operation.kind, (generation) => perform(entity, run, generation));
    run.end(done === null ? sandboxEndedFailure(entity) : null);
  } catch (error) {
    run.end(failureOf(error, entity.failedStep), causeOf(error));
  }
  entity.operation = null; // a refused operation may be requested again
  if (run.outcome) state.outcomes.push(run.outcome);
  state.outcomes.splice(0, state.outcomes.length - MAX_OUTCOMES);
}

function findUnderWay({ operation: run }: SandboxEntity, operationId: string): OperationRun | null {
  return run?.operation.operationId === operationId ? run : null;
}

function findPast({ state }: SandboxEntity, wanted: string): OperationReport | null {
  const past = state.outcomes.find(({ operationId }) => operationId === wanted);
  return past ? { isOver: true, failure: past.failure } : null;
}

async function requestOperation(entity: SandboxEntity, operation: Operation): Promise<OperationReport> {
  check(entity, operation);
  const past = findPast(entity, operation.operationId);
  if (past) return past;
  entity.operation ??= new OperationRun(operation);
  return entity.operation.report(false);
}

/** @throws ApplicationFailure why it can't start now */
function check(entity: SandboxEntity, wanted: Operation): void {
  const { id, record, operation: run } = entity;
  if (findUnderWay(entity, wanted.operationId) || findPast(entity, wanted.operationId)) return;
  entity.checkLiving();
  if (run) {
    throw refusal('sandbox_busy', `${id} is busy: ${run.operation.kind} ${run.operation.operationId} is under way.`);
  }
  if (record.state !== 'running' && !isSuspended(record.state)) {
    throw refusal('sandbox_not_running', `${id} is ${record.state}.`);
  }
  if (wanted.kind === 'snapshot' && wanted.notAfter !== undefined && Date.now() > Date.parse(wanted.notAfter)) {
    throw refusal('sandbox_busy', `${id} could not begin ${wanted.operationId} before ${wanted.notAfter}.`);
  }
  if (record.state === 'hibernated' && wanted.kind !== 'resume' && wanted.kind !== 'hibernate') {
    throw refusal('sandbox_not_running', `${id} is hibernated; resume it first.`);
  }
}

/**
 * Performs an operation. Accepts it before its first step, unless the operation does so when its request is recorded.
 */
async function perform(entity: SandboxEntity, run: OperationRun, generation: number): Promise<void> {
  const { operation } = run;
  const accept = () => run.accept();
  if (operation.kind === 'snapshot') {
    const { operationId: id, name, snapshotKind: kind, reason = 'requested', keptOf, actor } = operation;
    const wish = { id, name, kind, reason, actor, ...(keptOf && { keptOf }) };
    await takeSnapshot(entity, stepsOn(entity, generation), wish, accept);
    return;
  }
  if (operation.kind === 'restore') return restoreSandbox(entity, operation, generation, accept);
  accept();
  switch (operation.kind) {
    case 'pause':
      return pauseSandbox(entity, operation, generation);
    case 'hibernate':
      return hibernateSandbox(entity, operation, generation);
    case 'resume':
      return (entity.record.state === 'hibernated' ? wakeSandbox : resumeSandbox)(entity, operation, generation);
    case 'suspend-for-space':
      return suspendForSpace(entity, operation, generation);
    case 'resume-with-space':
      return resumeWithSpace(entity, generation);
  }
}
