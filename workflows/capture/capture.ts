import type { ActivityOptions } from '@temporalio/workflow';
import type { CaptureChange } from '../../activities/source/capture-record.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { CaptureRecord, SavedCapture } from '../../model/snapshots/capture.ts';
import { type CaptureCreation, type CaptureInput, newCapture } from '../../model/snapshots/capture-saga.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga } from '../saga/saga.ts';
import { RecordedTask, taskCompensations, taskSteps } from '../source/task-life.ts';

const DAY_MS = 24 * 60 * MINUTE_MS;
const STEP = PROFILE.step(2 * MINUTE_MS, { totalMs: 8 * MINUTE_MS });
/** Profile of long copies: at 100 MB/s a terabyte takes three hours. */
const LONG = PROFILE.step(DAY_MS / 2, { totalMs: DAY_MS });
/** Profile of the wait for libvirt's job, which continues without a worker: a late worker still learns its result. */
const WAIT = PROFILE.step(DAY_MS, { hostDownMs: DAY_MS, totalMs: DAY_MS, attempts: 100 });

/** Runs one task on the captures of a source; the workflow id prevents two at once. */
export async function capture(input: CaptureInput): Promise<void> {
  const task = new CaptureTask(input);
  if (input.task === 'create') await takeCapture(task, input);
  else await deleteCapture(task);
}

class CaptureTask extends RecordedTask<CaptureChange['changes'], CaptureRecord> {
  constructor(private readonly input: CaptureInput) {
    const { captureId, actor, hostId } = input;
    super({ actor, hostId, detail: { captureId } }, input.timeouts);
  }

  /** Writes the record of a new capture. @returns the record; the existing one if the capture was started before */
  begin(creation: CaptureCreation): Promise<CaptureRecord> {
    const event = this.event({ kind: 'capture.requested', detail: {} });
    return controlUntilDone.recordCapture({ record: newCapture(creation), sourceId: creation.sourceId, event });
  }

  /** @throws ApplicationFailure capture_not_found */
  recall(): Promise<CaptureRecord> {
    return controlUntilDone.recallCapture({ captureId: this.input.captureId });
  }

  steps(profile: ActivityOptions) {
    return taskSteps(this, this.input, this.#target, { ...profile, summary: this.#summary });
  }

  get undos() {
    return taskCompensations(this, this.input, this.#target, this.#summary);
  }

  protected override write(
    { updatedAt: _at, ...changes }: CaptureChange['changes'] & { updatedAt: string },
    event: AuditEvent | null,
  ): Promise<CaptureRecord> {
    const { captureId, sourceId } = this.input;
    return controlUntilDone.rememberCapture({ captureId, sourceId, changes, event });
  }

  get #target() {
    return { sandboxId: this.input.captureId, source: this.input.source };
  }

  get #summary(): string {
    const { captureId, hostId, source } = this.input;
    return `${source} on ${hostId} → ${captureId}`;
  }
}

/**
 * Captures one consistent moment of a running source:
 *
 *   record → reserve → begin (freeze, start the copy, thaw) → await → verify → keep (its final name) → ready
 *
 * The source keeps running. When a step fails, the source is thawed, the copy job aborted and its output removed, each
 * retried until success; only then is the capture `failed`.
 */
async function takeCapture(task: CaptureTask, creation: CaptureCreation): Promise<void> {
  const { state } = await task.begin(creation);
  if (state !== 'creating') return; // the workflow was reset
  try {
    const saved = await untilCancelled(() => copy(task));
    await task.recordChange({ state: 'ready', readyAt: now(), saved }, { kind: 'capture.ready', detail: { ...saved } });
  } catch (error) {
    const failure = failureOf(error, task.failedStep);
    const changes = { state: 'failed', failure, waitingFor: null } as const;
    await task.recordChange(changes, { kind: 'capture.failed', detail: { failure } });
    refusedOrFailed(failure, ['reserveCapture'], undefined);
  }
}

function copy(task: CaptureTask): Promise<SavedCapture> {
  const { undos } = task;
  const step = task.steps(STEP);
  return saga(async (undo) => {
    undo('reserveCapture', () => undos.releaseCapture());
    await step.reserveCapture();
    undo('beginCapture', () => undos.removeCapture());
    undo('beginCapture', () => undos.abortCapture());
    undo('beginCapture', () => undos.thawSource());
    await step.beginCapture();
    await task.steps(WAIT).awaitCapture();
    const saved = await task.steps(LONG).verifyCapture();
    await step.keepCapture();
    await undos.releaseCapture(); // its bytes are on the disk now and counted there
    return saved;
  });
}

/**
 * Deletes a capture, or leaves it unchanged when something refers to it:
 *
 *   deleting → removeCapture → deleted, or back to ready
 */
async function deleteCapture(task: CaptureTask): Promise<void> {
  const { state } = await task.recall();
  if (state === 'deleted' || state === 'failed') return;
  // A capture in `creating` has lost its workflow, or its workflow could not run: its residue is removed too.
  await task.recordChange({ state: 'deleting' }, { kind: 'capture.deleting', detail: {} });
  try {
    await task.steps(PROFILE.firstTry(2 * MINUTE_MS)).removeCapture(); // no compensation: it may be refused
  } catch (error) {
    const failure = failureOf(error, task.failedStep);
    const { code, message: why } = failure;
    if (code === 'capture_in_use') {
      await task.recordChange({ state: 'ready', waitingFor: why }, { kind: 'capture.kept', detail: { why } });
      return refusedOrFailed(failure, ['removeCapture'], undefined);
    }
    await task.recordChange({ waitingFor: `removeCapture: ${why}` });
    await task.undos.removeCapture();
  }
  await task.recordChange({ state: 'deleted', waitingFor: null }, { kind: 'capture.deleted', detail: {} });
}
