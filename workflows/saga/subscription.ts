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

/** Signal with the workflow id of a subscriber. */
const subscribe = defineSignal<[string]>('subscribe');
/** Signal that a workflow's record has changed. One name per workflow: workflows share module state. */
const recordChanged = (workflowId: string) => defineSignal<[string]>(`recordChanged of ${workflowId}`);

/** First pause after which a record is read without a signal, ms. It doubles. */
const FIRST_PAUSE_MS = { present: MINUTE_MS, gone: 250 };
const LONGEST_PAUSE_MS = 2 * MINUTE_MS;

interface Awaited {
  workflowId: string;
  /** Handle of a child, which notifies its parent without a subscription. `@default` null */
  child?: { result(): Promise<unknown> } | null;
  /** True when this workflow has already subscribed. `@default` true only for a child */
  isSubscribed?: boolean;
  /** Minimum time after which the wait fails, ms. `@default` none */
  withinMs?: number;
}

/**
 * Waits for another workflow: reads its record on each signal and at its end, and after long pauses in case a signal is
 * lost.
 * @param read returns a falsy value until the wait can end
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

/** Notifies each new subscriber at once, and adds it for {@link notifySubscribers}. @param ids workflow ids */
export function handleSubscriptions(ids: string[]): void {
  setHandler(subscribe, async (id) => {
    addSubscriber(ids, id);
    await notifySubscribers([id]);
  });
}

export function addSubscriber(ids: string[], id: string): void {
  if (!ids.includes(id)) ids.push(id);
}

/** Signals that this workflow's record has changed. Drops the ids of workflows that have ended. */
export async function notifySubscribers(ids: string[]): Promise<void> {
  const { workflowId } = workflowInfo();
  for (const id of ids.toReversed()) {
    if (await trySignal(id, recordChanged(workflowId), workflowId)) continue;
    const at = ids.indexOf(id); // -1: a concurrent call has dropped it
    if (at >= 0) ids.splice(at, 1);
  }
}

/** Notifies the parent workflow. */
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
 * Starts a child that by default outlives this run. Shielded from cancellation: a start abandoned between its two
 * events never resolves (SDK 1.24).
 * @returns null when its workflow id is in use
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
