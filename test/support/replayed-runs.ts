import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { DefaultLogger, type NativeConnection, Worker } from '@temporalio/worker';
import { bundleWorkflows } from '../../worker/bundle.ts';
import { createWorkflowConverter } from '../../worker/payloads/data-converter.ts';
import { eventually } from './eventually.ts';

/** Number of newest runs to replay; each takes some 50 ms. */
const RUNS = 20;

/** Replays runs, like a worker that adopts them. @param since earliest start @returns those that diverge */
export async function runsThatReplayOtherwise(
  client: Client,
  dataConverter: DataConverter,
  since: Date,
): Promise<string[]> {
  const query = `StartTime >= "${since.toISOString()}"`;
  const workflowBundle = await bundleWorkflows(new DefaultLogger('ERROR'));
  const options = { workflowBundle, dataConverter: createWorkflowConverter(dataConverter) };
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

/** Terminates open runs: the next file's control worker has another key, and cannot continue or reconcile them. */
export async function endOpenRuns(client: Client, connection: NativeConnection): Promise<void> {
  const { namespace } = client.options;
  const query = 'ExecutionStatus="Running"';
  await eventually(
    async () => {
      const { executions } = await connection.workflowService.listWorkflowExecutions({ namespace, query });
      const ids = executions.flatMap(({ execution }) => execution?.workflowId ?? []);
      const end = (id: string) => client.workflow.getHandle(id).terminate('the tests of its file are over');
      await Promise.allSettled(ids.map(end));
      return ids;
    },
    (ids) => ids.length === 0,
  );
}
