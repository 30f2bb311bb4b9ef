import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger, type WorkflowBundleWithSourceMap } from '@temporalio/worker';

/** The workflows as one script, as workers and the replayer take it. About a second. */
export function bundleWorkflows(logger: Logger): Promise<WorkflowBundleWithSourceMap> {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    logger,
  });
}
