import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import type { AppDeps } from '../../api/http/context.ts';

/** What carries a trace from a request through workflows and activities to programs. */
export interface Tracing {
  client: WorkflowClientInterceptor[];
  activity: ActivityInterceptorsFactory[];
  /** Paths of modules that the workflows are bundled with. */
  workflowModules: string[];
  sinks: InjectedSinks<Sinks>;
  /** A span for each request. */
  request?: NonNullable<AppDeps['traceRequest']>;
  /** Sends what is left. */
  close(): Promise<void>;
}
