import {
  type ActivityOptions,
  CancellationScope,
  type ChildWorkflowHandle,
  log,
  ParentClosePolicy,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { DESTROY, SANDBOX_WORKFLOW, type SandboxInput, type StopRequest } from '../../model/sagas/messages.ts';
import { workflowIdOf } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import { isFinal } from '../../model/sandbox/sandbox.ts';
import type { BakeSourceInput } from '../../model/snapshots/baked-source.ts';
import { refusal } from '../saga/failure.ts';
import type { sandbox } from '../sandbox/sandbox.ts';
import { UNTIL_DONE } from './bake-life.ts';

type Sandbox = ChildWorkflowHandle<typeof sandbox>;

/** Its own TTL ends it when nobody else does any more. Seconds. */
const TTL_SECONDS = 7_200;

/** All steps of a create together have less. */
const WAIT: ActivityOptions = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', maximumInterval: '2s' },
};
const { awaitRunning } = proxyActivities<ControlActivities>(WAIT);
const { stateOf } = proxyActivities<ControlActivities>(UNTIL_DONE);

/** The sandbox in which a snapshot is cleaned: an ordinary one, with its own saga and proof, and no way to the internet. */
export class Builder {
  #child: Sandbox | null = null;
  readonly #input: SandboxInput;

  constructor({ builderId: id, snapshot, name, actor, requestedAt, timeouts, size }: BakeSourceInput) {
    this.#input = {
      id,
      spec: {
        source: snapshot.source,
        snapshotId: snapshot.id,
        cpus: null,
        memoryMib: null,
        ttlSeconds: TTL_SECONDS,
        idleSeconds: null,
        autoResume: false,
        metadata: { purpose: `bakes the source ${name}` },
        agentId: null,
        network: { egress: 'none' },
      },
      ...(size && { size }),
      createdBy: actor,
      requestedAt,
      begin: 'create',
      mayBeOff: true,
      ...(timeouts && { timeouts }),
    };
  }

  /** @throws ApplicationFailure with the code of why it does not run */
  async start(): Promise<void> {
    this.#child = await this.#begin(this.#input);
    const failure = await awaitRunning.executeWithOptions({ ...WAIT, summary: readable(this.#input.id) }, [
      { sandboxId: this.#input.id },
    ]);
    if (failure) throw refusal(failure.code, failure.message);
  }

  /** Ends it, and returns when the store has the proof that nothing of it is left. @throws when it must be asked again */
  async destroy(): Promise<void> {
    const { id: sandboxId } = this.#input;
    if (this.#child) await this.#end(this.#child);
    const state = await stateOf({ sandboxId });
    if (state === null || isFinal(state)) return;
    // its workflow was ended from outside: another one takes over
    await this.#end(await this.#begin({ ...this.#input, begin: 'destroy' }));
    throw new Error(`${sandboxId} was ${state}, and has been told once more to end`);
  }

  /** What it ended with is in its record, also when it ended before it was told to. */
  async #end(child: Sandbox): Promise<void> {
    try {
      await child.signal<[StopRequest]>(DESTROY, { actor: this.#input.createdBy });
      await child.result();
    } catch (error) {
      log.info('the builder ended otherwise', { id: this.#input.id, why: String(error) });
    }
  }

  /** Of its own scope: a bake that is cancelled ends it by its undo. */
  #begin(input: SandboxInput): Promise<Sandbox> {
    return CancellationScope.nonCancellable(() =>
      startChild<typeof sandbox>(SANDBOX_WORKFLOW, {
        workflowId: workflowIdOf(input.id),
        args: [input],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: readable(`${input.id} from ${input.spec.snapshotId ?? input.spec.source}`),
      }),
    );
  }
}
