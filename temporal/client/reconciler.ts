import { markReadable } from '../../model/sagas/readable.ts';
import {
  RECONCILE_HOST_WORKFLOW,
  RECONCILE_NOW,
  RECONCILE_WORKFLOW,
  type ReconcileHostInput,
  type ReconcileTimes,
  reconcileHostWorkflowIdOf,
} from '../../model/sagas/reconcile.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Starts comparisons of store, Temporal and hosts. Any process may, concurrently and repeatedly. */
export class ReconcilerWorkflows extends WorkflowClient {
  /** Starts the reconciler unless it runs. */
  async ensure(times: ReconcileTimes): Promise<void> {
    await this.startUnlessRunning(RECONCILE_WORKFLOW, optionsOf(times));
  }

  /** As {@link ensure}, with a round at once, or after the current one; these times apply from then on. */
  async reconcileNow(times: ReconcileTimes): Promise<void> {
    await this.signalWithStart(RECONCILE_WORKFLOW, optionsOf(times), RECONCILE_NOW, times);
  }

  /** Compares one host with its records now, or joins the comparison that runs. */
  async reconcileHost(input: ReconcileHostInput): Promise<void> {
    await this.startUnlessRunning(RECONCILE_HOST_WORKFLOW, {
      workflowId: reconcileHostWorkflowIdOf(input.hostId),
      args: [input],
      staticSummary: markReadable(`what is on ${input.hostId}`),
    });
  }
}

function optionsOf(times: ReconcileTimes) {
  return {
    workflowId: RECONCILE_WORKFLOW,
    args: [times],
    staticSummary: markReadable('compares store, Temporal and hosts'),
  };
}
