import { type ChildWorkflowHandle, log, workflowInfo } from '@temporalio/workflow';
import type { ErrorCode } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { DESTROY, SANDBOX_WORKFLOW, type SandboxInput } from '../../model/sagas/messages.ts';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { markReadable } from '../../model/sagas/readable.ts';
import type { StopRequest } from '../../model/sagas/stop-request.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { controlUntilDone, queuedControlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { MINUTE_MS } from '../saga/profiles.ts';
import { startUnlessPresent, trySignal, waitForWorkflow } from '../saga/subscription.ts';
import type { sandbox } from '../sandbox/sandbox.ts';

type Sandbox = ChildWorkflowHandle<typeof sandbox>;

const { readCreateOutcome } = controlUntilDone;
const { stateOf } = queuedControlUntilDone;

/** Time after which a sandbox's end is requested again, ms. */
const END_MS = 5 * MINUTE_MS;

/** Sandbox of a task: an ordinary one, with its own workflow, TTL and proof. */
export class TaskSandbox {
  #child: Sandbox | null = null;

  /**
   * @param otherwise code of a failure without a code
   * @param presence `may-be-there`: joins it where it was started before. A host: it already runs there. `@default` its
   * presence is a failure
   */
  constructor(
    private readonly input: SandboxInput,
    private readonly otherwise: ErrorCode,
    private readonly presence: 'new' | 'may-be-there' | HostRef = 'new',
  ) {}

  /**
   * Creates it. Resolves when it runs; an offline one, when it boots.
   * @param from input to create it from. `@default` its own
   * @param mayBeAsleep it ran before, and may be paused or hibernated since. `@default` false
   * @returns its host
   * @throws ApplicationFailure with the code of the failed create
   */
  async start({ from = this.input, mayBeAsleep = false } = {}): Promise<HostRef> {
    if (typeof this.presence === 'object') return this.presence;
    const { id: sandboxId, template } = from;
    this.#child = await startSandbox(from);
    if (this.#child === null && this.presence === 'new') {
      throw refusal(this.otherwise, `${sandboxId} was begun before: the workflow that made it was reset.`);
    }
    const wait = {
      sandboxId,
      otherwise: this.otherwise,
      isOffline: template === 'builder',
      ...(mayBeAsleep && { mayBeAsleep }),
    };
    const target = { workflowId: sandboxWorkflowId(sandboxId), child: this.#child };
    const outcome = await waitForWorkflow(target, () => readCreateOutcome(wait));
    if ('code' in outcome) throw refusal(outcome.code, outcome.message);
    return outcome;
  }

  /** Ends it, and returns when the store has the proof that nothing of it is left. @throws when it must be retried */
  async destroy(): Promise<void> {
    const { id: sandboxId } = this.input;
    if (this.#child && (await this.#end(this.#child)) && this.presence !== 'new') return;
    if (typeof this.presence === 'object' && (await this.#signalEnd())) return this.#waitForEnd();
    const state = await stateOf({ sandboxId });
    if (state === null || isFinal(state)) return;
    // Its workflow was terminated, or is another's child: adopt the sandbox, or signal that workflow.
    const adopter = await startSandbox({ ...this.input, begin: 'destroy' });
    if (adopter) await this.#end(adopter);
    else if (!(await this.#signalEnd())) throw new Error(`${sandboxId} was ${state}, and its workflow has just ended`);
    else if (this.presence !== 'new') return this.#waitForEnd();
    throw new Error(`${sandboxId} was ${state}, and has been told once more to end`);
  }

  /** Waits for the end of a sandbox that was signaled to end and has this workflow as a subscriber. */
  async #waitForEnd(): Promise<void> {
    const { id: sandboxId } = this.input;
    const target = { workflowId: sandboxWorkflowId(sandboxId), isSubscribed: true, withinMs: END_MS };
    await waitForWorkflow(target, async () => {
      const state = await controlUntilDone.stateOf({ sandboxId });
      return state === null || isFinal(state);
    });
  }

  /** Signals its workflow to end it. @returns false: no such workflow runs */
  #signalEnd(): Promise<boolean> {
    const { id, createdBy: actor } = this.input;
    return trySignal(sandboxWorkflowId(id), DESTROY, {
      actor,
      subscriber: workflowInfo().workflowId,
    } satisfies StopRequest);
  }

  /** Ends it. The result is in its record, also when it ended before the signal. @returns true when it has a proof */
  async #end(child: Sandbox): Promise<boolean> {
    try {
      await child.signal<[StopRequest]>(DESTROY, { actor: this.input.createdBy });
      return (await child.result()) !== null;
    } catch (error) {
      log.info('a sandbox of a task ended otherwise', { id: this.input.id, why: String(error) });
      return false;
    }
  }
}

/** Starts the workflow of a sandbox, which outlives a cancelled task. @returns null when one already runs */
export function startSandbox(input: SandboxInput): Promise<Sandbox | null> {
  const { id, spec, pool } = input;
  const purpose = pool ? `, for the pool ${pool.name}` : '';
  return startUnlessPresent<typeof sandbox>(SANDBOX_WORKFLOW, {
    workflowId: sandboxWorkflowId(id),
    args: [input],
    staticSummary: markReadable(`${id} from ${spec.snapshotId ?? spec.source}${purpose}`),
  });
}
