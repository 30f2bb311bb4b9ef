import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { bundleWorkflows } from '../../worker/bundle.ts';

/** So many of the newest runs: each costs some 50 ms. */
const RUNS = 20;

/**
 * Replays runs, as a worker does that goes on with them after another has died: what ran at once may come in another order.
 * @param since when the first of them may have begun
 * @returns those that do not go the way they went
 */
export async function runsThatReplayOtherwise(
  client: Client,
  dataConverter: DataConverter,
  since: Date,
): Promise<string[]> {
  const query = `StartTime >= "${since.toISOString()}"`;
  const options = { workflowBundle: await bundleWorkflows(new DefaultLogger('ERROR')), dataConverter };
  const histories = client.workflow
    .list({ query, pageSize: RUNS })
    .intoHistories({ concurrency: 2, bufferLimit: RUNS });
  const otherwise: string[] = [];
  let left = RUNS;
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories)) {
    if (error) otherwise.push(`${workflowId}: ${error.message}`);
    left--;
    if (left === 0) break;
  }
  return otherwise;
}
