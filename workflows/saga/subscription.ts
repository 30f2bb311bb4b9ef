import { type SignalDefinition, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  type ChildWorkflowHandle,
  type ChildWorkflowOptions,
  condition,
  defineSignal,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  setHandler,
  startChild,
  type WithWorkflowArgs,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';
import { refusal } from './failure.ts';
import { MINUTE_MS } from './profiles.ts';

/** Signal with the workflow id of its sender, which wants to be notified. */
const subscribe = defineSignal<[string]>('subscribe');
/** Signal of a workflow whose record has changed, which each wait handles by itself: workflows share the state of modules. */
const recordChanged = (workflowId: string) => defineSignal<[string]>(`recordChanged of ${workflowId}`);

/** First pause after which a record is read without a signal, ms. It doubles. */
const FIRST_PAUSE_MS = { present: MINUTE_MS, gone: 250 };
const LONGEST_PAUSE_MS = 2 * MINUTE_MS;

interface Awaited {
  workflowId: string;
  /** Its handle, where it is a child of this one: it notifies its parent unasked. `@default` null */
  child?: { result(): Promise<unknown> } | null;
  /** This workflow is among its subscribers. `@default` only where it is a child */
  isSubscribed?: boolean;
  /** Least time after which the wait fails, ms. `@default` none */
  withinMs?: number;
}

/**
 * Waits for another workflow: reads what that has recorded when it signals or ends, and after a long pause, should it be lost.
 * @param read something falsy while it is still to be waited for
 * @throws ApplicationFailure step_timeout
 */
export async function waitForWorkflow<T>(
  { workflowId, child = null, isSubscribed = child !== null, withinMs = Number.POSITIVE_INFINITY }: Awaited,
  read: () => Promise<T | null | false>,
): Promise<T> {
  let isChanged = false;
  const wake = () => {
    isChanged = true;
  };
  setHandler(recordChanged(workflowId), wake);
  const ownId = workflowInfo().workflowId;
  let isPresent = isSubscribed || (await trySignal(workflowId, subscribe, ownId));
  const end = () => {
    isPresent = false;
    wake();
  };
  child?.result().then(end, end);
  const deadline = Date.now() + withinMs;
  for (let pauses = 0; Date.now() < deadline; ) {
    const pauseMs = FIRST_PAUSE_MS[isPresent ? 'present' : 'gone'] * 2 ** pauses;
    const isWoken = await condition(() => isChanged, Math.min(pauseMs, LONGEST_PAUSE_MS));
    isChanged = false;
    const found = await read();
    if (found) return found;
    if (isWoken) continue;
    pauses++;
    isPresent = await trySignal(workflowId, subscribe, ownId);
  }
  throw refusal('step_timeout', `${workflowId} has not come so far in ${withinMs / MINUTE_MS} minutes.`);
}

/** Notifies each new subscriber at once, and adds it to those of {@link notifySubscribers}. @param ids of workflows */
export function handleSubscriptions(ids: string[]): void {
  setHandler(subscribe, async (id) => {
    addSubscriber(ids, id);
    await notifySubscribers([id]);
  });
}

export function addSubscriber(ids: string[], id: string): void {
  if (!ids.includes(id)) ids.push(id);
}

/** Signals that this workflow's record has changed. Drops the ids of workflows that are gone. */
export async function notifySubscribers(ids: string[]): Promise<void> {
  const { workflowId } = workflowInfo();
  for (const id of ids.toReversed()) {
    if (await trySignal(id, recordChanged(workflowId), workflowId)) continue;
    const at = ids.indexOf(id); // none: another call, which ran meanwhile, has dropped it
    if (at >= 0) ids.splice(at, 1);
  }
}

/** Notifies the workflow that has started this one. */
export async function notifyParent(): Promise<void> {
  const { parent, workflowId } = workflowInfo();
  if (parent) await trySignal(parent.workflowId, recordChanged(workflowId), workflowId);
}

/** Signals a workflow, shielded from cancellation. @returns false when no such workflow runs */
export async function trySignal<Args extends unknown[]>(
  workflowId: string,
  signal: SignalDefinition<Args> | string,
  ...args: Args
): Promise<boolean> {
  const send = () => getExternalWorkflowHandle(workflowId).signal<Args>(signal, ...args);
  try {
    await CancellationScope.nonCancellable(send);
    return true;
  } catch (error) {
    log.debug('no workflow to signal', { workflowId, why: String(error) });
    return false;
  }
}

/**
 * Starts a child that outlives this run, unless told otherwise. Shielded from cancellation: a start that is abandoned between its
 * two events never resolves (SDK 1.24). @returns null where its workflow id is in use
 */
export async function startUnlessPresent<T extends Workflow>(
  type: string,
  options: WithWorkflowArgs<T, ChildWorkflowOptions>,
): Promise<ChildWorkflowHandle<T> | null> {
  try {
    return await CancellationScope.nonCancellable(() =>
      startChild<T>(type, { parentClosePolicy: ParentClosePolicy.ABANDON, ...options }),
    );
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return null;
    throw error;
  }
}
