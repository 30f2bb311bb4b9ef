import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isForNextRun } from './failure.ts';

/** A run that continues as new has to write what it was asked before. Milliseconds. */
const PAUSE_MS = 20;

export interface Question {
  /** None, or one. */
  args: unknown[];
  /** Of an update that who asks again joins. `@default` a new one */
  updateId?: string;
}

/**
 * Asks a workflow, whichever of its runs is there, and returns its answer. One that is about to continue as new leaves the
 * question to the next. As long as that takes: who asks gives the call a deadline.
 */
export async function ask<T>(client: Client, workflowId: string, update: string, question: Question): Promise<T> {
  const options = { ...question, args: question.args as [unknown] };
  for (;;) {
    try {
      return await client.workflow.getHandle(workflowId).executeUpdate<T, [unknown]>(update, options);
    } catch (error) {
      if (!isForNextRun(error)) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
