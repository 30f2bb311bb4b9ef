import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { SandboxInput, StopRequest } from '../model/sagas/messages.ts';
import { DESTROY, RESTORE_RECORD, SANDBOX_WORKFLOW, SEARCH_ATTRIBUTES } from '../model/sagas/messages.ts';
import { workflowIdOf } from '../model/sagas/queues.ts';
import { RECONCILER } from '../model/sagas/reconcile.ts';
import { isGone } from './failure.ts';
import { takeOverSandbox } from './sandboxes.ts';

/** A run that is open, as Temporal's list shows it: that follows what happens by some seconds. */
export interface OpenRun {
  sandboxId: string;
  startedAt: Date;
  /** What it last said of itself; null: nothing yet. */
  state: string | null;
  hostId: string | null;
}

/** Of the list of all open runs of sandboxes. */
const OPEN_SANDBOXES = `WorkflowType = "${SANDBOX_WORKFLOW}" AND ExecutionStatus = "Running"`;

/** What a reconciliation asks Temporal, and has it do. */
export class Reconciliation {
  constructor(private readonly client: Client) {}

  async openSandboxes(): Promise<OpenRun[]> {
    const runs: OpenRun[] = [];
    for await (const { workflowId, startTime, searchAttributes } of this.client.workflow.list({
      query: OPEN_SANDBOXES,
    })) {
      const [, sandboxId] = /^sandbox\/(.*)$/.exec(workflowId) ?? [];
      if (sandboxId === undefined) continue;
      const said = (name: string) => searchAttributes[name]?.map(String)[0] ?? null;
      const [state, hostId] = [said(SEARCH_ATTRIBUTES.state), said(SEARCH_ATTRIBUTES.host)];
      runs.push({ sandboxId, startedAt: startTime, state, hostId });
    }
    return runs;
  }

  /** Whether a workflow of that id runs now; other than the list, this is never behind. */
  async isOpen(workflowId: string): Promise<boolean> {
    try {
      return (await this.client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  isSandboxOpen(sandboxId: string): Promise<boolean> {
    return this.isOpen(workflowIdOf(sandboxId));
  }

  /** Has a saga of its own go on with a sandbox that has none. @returns false when it has one by now */
  async takeOver(input: SandboxInput): Promise<boolean> {
    try {
      await takeOverSandbox(this.client, input);
      return true;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    }
  }

  /** Resolves when the store has the record. @returns false when no saga of that sandbox runs */
  async restoreRecord(sandboxId: string): Promise<boolean> {
    try {
      await this.client.workflow.getHandle(workflowIdOf(sandboxId)).executeUpdate(RESTORE_RECORD, { args: [] });
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  /** Ends a saga which the store says has ended. */
  async end(sandboxId: string): Promise<void> {
    try {
      await this.client.workflow
        .getHandle(workflowIdOf(sandboxId))
        .signal<[StopRequest]>(DESTROY, { actor: RECONCILER });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}
