import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import type { AppDeps } from '../../api/http/context.ts';

/** Interceptors that carry a trace from a request through workflows and activities to programs. */
export interface Tracing {
  client: WorkflowClientInterceptor[];
  activity: ActivityInterceptorsFactory[];
  /** Paths of modules for the bundle of workflows. */
  workflowModules: string[];
  sinks: InjectedSinks<Sinks>;
  /** Creates a span for each request. */
  request?: NonNullable<AppDeps['traceRequest']>;
  /** Exports the remaining spans. */
  close(): Promise<void>;
}
