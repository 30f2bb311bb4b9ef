import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import {
  BAKE_MEMO,
  BAKE_SOURCE_WORKFLOW,
  type BakeSourceInput,
  bakeWorkflowId,
  DELETE_SOURCE_WORKFLOW,
  type DeleteSourceInput,
} from '../../model/snapshots/bake-saga.ts';
import { captureWorkflowId } from '../../model/snapshots/capture-saga.ts';
import {
  SOURCE_TASK_MEMO,
  SOURCE_WORKFLOW,
  type SourceInput,
  sourceWorkflowId,
} from '../../model/snapshots/source-access.ts';
import {
  FORCE_STOP,
  SOURCE_POWER_MEMO,
  SOURCE_POWER_WORKFLOW,
  type SourcePowerInput,
  type SourcePowerOutcome,
  type SourcePowerResult,
  sourcePowerWorkflowId,
} from '../../model/snapshots/source-power.ts';
import { TaskClient } from '../call/task-client.ts';

type SourceRef = Pick<SourceInput, 'hostId' | 'name'>;

/** Memo during the deletion of a source. */
const DELETING = 'delete';

/** Prepares, powers, bakes and deletes sources. */
export class SourceWorkflows extends TaskClient {
  /**
   * Starts to prepare or unprepare a source; joins the same task if it runs.
   * @throws MayflyError too_many_requests while the other task runs on it
   */
  async beginTask(input: SourceInput): Promise<void> {
    const { hostId, name, task, actor } = input;
    const started = await this.calls.call(() =>
      this.startOrJoin(SOURCE_WORKFLOW, {
        workflowId: sourceWorkflowId(hostId, name),
        args: [input],
        memoKey: SOURCE_TASK_MEMO,
        task,
        apiKeyId: actor.apiKeyId,
        staticSummary: `${task} ${name} on ${hostId}`,
      }),
    );
    if (started?.other) throw conflictError(name, task === 'prepare' ? 'unprepared' : 'prepared', started.other);
  }

  /** Resolves when no task runs on the source. @throws the signal's reason when it fires first */
  async taskEnded({ hostId, name }: SourceRef, signal: AbortSignal): Promise<void> {
    await this.result(sourceWorkflowId(hostId, name), signal);
  }

  /**
   * Starts or stops a source; joins the same task if it runs, and forces a running stop.
   * @throws MayflyError too_many_requests while the other task runs on it; source_busy while it is captured or prepared
   */
  async beginPower(input: SourcePowerInput): Promise<void> {
    const { hostId, name, task, force, actor } = input;
    if (task === 'stop' && !force) await this.#refuseBusy(input);
    const workflowId = sourcePowerWorkflowId(input);
    const started = await this.calls.call(() =>
      this.startOrJoin(SOURCE_POWER_WORKFLOW, {
        workflowId,
        args: [input],
        task,
        memoKey: SOURCE_POWER_MEMO,
        apiKeyId: actor.apiKeyId,
        staticSummary: `${task} ${name} on ${hostId}`,
      }),
    );
    if (started?.other) throw conflictError(name, task === 'start' ? 'stopped' : 'started', started.other);
    if (force && started?.isNew === false) await this.signal(workflowId, FORCE_STOP, actor);
  }

  /**
   * Resolves when neither task runs, with the result of the last, which no record has; undefined when it is unknown.
   * @throws the signal's reason when it fires first
   */
  powerEnded(of: SourceRef, signal: AbortSignal): Promise<SourcePowerOutcome | undefined> {
    return this.calls.wait(signal, async () => {
      try {
        return { failure: null, ...((await this.handle(sourcePowerWorkflowId(of)).result()) as SourcePowerResult) };
      } catch (error) {
        const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
        if (!(cause instanceof ApplicationFailure) || !cause.type || !isErrorCode(cause.type)) throw error;
        return { failure: { code: cause.type, message: cause.message } };
      }
    });
  }

  /** Refuses a stop that would make a running task fail. */
  async #refuseBusy({ hostId, name }: SourcePowerInput): Promise<void> {
    const busy = {
      'it is being captured, or a capture of it deleted': captureWorkflowId({ hostId, source: name }),
      'it is being prepared, or unprepared': sourceWorkflowId(hostId, name),
    };
    for (const [why, workflowId] of Object.entries(busy)) {
      if ((await this.statusOf(workflowId)) !== 'RUNNING') continue;
      const what = `${JSON.stringify(name)} is busy on ${hostId}: ${why}.`;
      throw new MayflyError('source_busy', what, { retryAfterSeconds: 5 });
    }
  }

  /**
   * Starts to bake a snapshot into a source; the same bake id joins it.
   * @throws MayflyError source_exists while another task works on that name
   */
  async bake(input: BakeSourceInput): Promise<void> {
    const { hostId, name, snapshot, bakeId } = input;
    const summary = `bake ${name} of ${snapshot.id} on ${hostId}`;
    const other = await this.#startBakeTask(BAKE_SOURCE_WORKFLOW, input, bakeId, summary);
    if (!other) return;
    const why = `${JSON.stringify(name)} is being baked or deleted at this moment.`;
    throw new MayflyError('source_exists', why, { cause: other.cause });
  }

  /**
   * Starts to delete a baked source, or joins the running deletion. @throws MayflyError too_many_requests while it is
   * baked
   */
  async delete(input: DeleteSourceInput): Promise<void> {
    const { hostId, name } = input;
    const summary = `delete the source ${name} on ${hostId}`;
    const other = await this.#startBakeTask(DELETE_SOURCE_WORKFLOW, input, DELETING, summary);
    if (!other) return;
    const why = `${JSON.stringify(name)} is being baked; it can be deleted when that has ended.`;
    throw new MayflyError('too_many_requests', why, { cause: other.cause, retryAfterSeconds: 5 });
  }

  async #startBakeTask(type: string, input: BakeSourceInput | DeleteSourceInput, task: string, staticSummary: string) {
    const workflowId = bakeWorkflowId(input.hostId, input.name);
    const { apiKeyId } = input.actor;
    const started = await this.calls.call(() =>
      this.startOrJoin(type, { workflowId, args: [input], memoKey: BAKE_MEMO, task, apiKeyId, staticSummary }),
    );
    return started?.other;
  }

  /** Resolves when no bake and no deletion of that name runs. @throws the signal's reason when it fires first */
  async bakeEnded({ hostId, name }: SourceRef, signal: AbortSignal): Promise<void> {
    await this.result(bakeWorkflowId(hostId, name), signal);
  }
}

function conflictError(name: string, participle: string, { cause }: { cause: unknown }): MayflyError {
  const why = `${JSON.stringify(name)} is being ${participle} at this moment.`;
  return new MayflyError('too_many_requests', why, { cause, retryAfterSeconds: 5 });
}
