import { condition, defineSignal, setHandler } from '@temporalio/workflow';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import { runUntil } from '../../workflows/saga/cancellation.ts';
import { runTaskCommand } from '../../workflows/source/task-command.ts';

/** Workflow whose task is interrupted by a signal. */
export async function cutShort(command: CommandInput): Promise<void> {
  let isOver = false;
  setHandler(defineSignal('end'), () => {
    isOver = true;
  });
  await runUntil(
    () => isOver,
    () => runTaskCommand(command, 'a command'),
  );
  await condition(() => isOver);
}
