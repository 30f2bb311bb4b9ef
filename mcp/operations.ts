import type { ServerContext } from '@modelcontextprotocol/server';
import { MayflyApiError } from '../clients/typescript/http/problem.ts';
import { isCommandId, isSnapshotId } from '../model/ids.ts';
import { isCreateFinished, isFinal } from '../model/sandbox/sandbox-state.ts';
import { isSandboxId } from '../model/sandbox-id.ts';
import { Call, type Caller } from './lib/call.ts';
import type { Task, Tasks, WorkingTask } from './lib/task.ts';
import { type Answer, resultOf, resultOfError } from './lib/tool.ts';
import { cancelled, commandAnswer, commandTask } from './tools/commands.ts';
import { createTask, destroySandboxes, sandboxAnswer } from './tools/sandboxes.ts';
import { snapshotAnswer, snapshotTask } from './tools/snapshots.ts';

/**
 * Exposes creates, commands and snapshots as tasks: their records have the state, so no process has to remember any.
 */
export function operationsOf(caller: Caller, prefix: string): Tasks {
  const during = async <T>(context: ServerContext, act: (call: Call) => Promise<T>): Promise<T> => {
    const call = new Call(caller, context, 'task', prefix);
    try {
      return await act(call);
    } finally {
      await call.end();
    }
  };
  return {
    get: (taskId, context) =>
      during(context, (call) =>
        taskOf(call, taskId, prefix).catch((error: unknown) => {
          if (error instanceof MayflyApiError && error.status === 404) return null;
          throw error;
        }),
      ),
    cancel: ({ taskId }, context) => during(context, (call) => cancel(call, taskId)),
  };
}

async function taskOf(call: Call, taskId: string, prefix: string): Promise<Task | null> {
  const { client, signal } = call;
  const [subject = '', commandId] = taskId.split('/');
  if (commandId !== undefined) {
    if (!isSandboxId(subject) || !isCommandId(commandId)) return null;
    const command = await client.commands.get(subject, commandId, { signal });
    const task = { ...commandTask(command), lastUpdatedAt: command.endedAt ?? command.requestedAt };
    if (command.state !== 'ended') return commandTask(command);
    if (command.outcome === 'cancelled') return { ...task, status: 'cancelled' };
    return completeTask(task, prefix, () => commandAnswer(call, command));
  }
  if (isSandboxId(subject)) {
    const sandbox = await client.getSandbox(subject, { signal });
    const task = createTask(sandbox);
    // A create that was cancelled before it ran.
    if (sandbox.state === 'destroyed' && sandbox.runningAt === null) return { ...task, status: 'cancelled' };
    return isCreateFinished(sandbox.state)
      ? completeTask(task, prefix, async () => sandboxAnswer(call, sandbox))
      : task;
  }
  if (!isSnapshotId(subject)) return null;
  const snapshot = await client.snapshots.get(subject, { signal });
  const task = { ...snapshotTask(snapshot), lastUpdatedAt: snapshot.readyAt ?? snapshot.createdAt };
  return snapshot.state === 'creating' ? task : completeTask(task, prefix, async () => snapshotAnswer(snapshot));
}

/** Completes a task, also after an error: its result has the error. */
async function completeTask(task: WorkingTask, prefix: string, answer: () => Promise<Answer<object>>): Promise<Task> {
  const result = await answer().then(resultOf, (error: unknown) => resultOfError(error, prefix));
  return { ...task, status: 'completed', result: JSON.parse(JSON.stringify(result)) };
}

/** Cancels like a running call; a snapshot in progress is not stopped. */
async function cancel({ client, signal }: Call, taskId: string): Promise<void> {
  const [subject = '', commandId] = taskId.split('/');
  if (commandId !== undefined) {
    await cancelled(client, await client.commands.get(subject, commandId, { signal }));
  } else if (isSandboxId(subject)) {
    const { state } = await client.getSandbox(subject, { signal });
    if (!isCreateFinished(state) && !isFinal(state)) await destroySandboxes(client, [{ id: subject }]);
  }
}
