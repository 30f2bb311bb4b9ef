import {
  type DetailedTaskV2,
  GetTaskRequestV2Schema,
  hasTaskClientCapabilityV2,
  TASKS_EXTENSION_ID_V2,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import {
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';

/** Poll interval of a task for clients, ms. */
const POLL_MS = 2_000;
/**
 * Time for which a task is readable after its start, ms: records stay longer, unless their retention is less than a
 * day.
 */
const TTL_MS = 86_400_000;

/** Operation that continues after the call's answer. Its id is the operation's own, so any process knows it. */
export type Task = DetailedTaskV2 extends infer One ? (One extends unknown ? Omit<One, keyof Bounds> : never) : never;

/** Task that is not over. */
export type WorkingTask = Extract<Task, { status: 'working' }>;

type Bounds = Pick<DetailedTaskV2, 'ttlMs' | 'pollIntervalMs'>;

const BOUNDS = { ttlMs: TTL_MS, pollIntervalMs: POLL_MS } satisfies Bounds;

/** Access to tasks. */
export interface Tasks {
  /** @returns null when the caller has no such task */
  get(taskId: string, context: ServerContext): Promise<Task | null>;
  /** Ends a running operation; a finished one stays. */
  cancel(task: Task, context: ServerContext): Promise<void>;
}

/** Reports whether the client of a request supports tasks (2026-07-28: declared by each request). */
export function knowsTasks({ mcpReq }: ServerContext): boolean {
  return hasTaskClientCapabilityV2({ _meta: mcpReq.envelope });
}

/** Returns a call's answer about a continuing operation. */
export function createdTask(task: WorkingTask) {
  return { resultType: 'task', ...task, ...BOUNDS };
}

/** Serves the extension `io.modelcontextprotocol/tasks`. No task requires input, so `tasks/update` has no effect. */
export function registerTasks({ server }: McpServer, tasks: Tasks): void {
  server.registerCapabilities({ extensions: { [TASKS_EXTENSION_ID_V2]: {} } });
  const requireTask = async (taskId: string, context: ServerContext): Promise<Task> => {
    requireKnowledge(context);
    const task = await tasks.get(taskId, context);
    if (!task) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${taskId}.`);
    return task;
  };
  // The schema of `tasks/get` also drops an update's input from its params.
  const { params } = GetTaskRequestV2Schema.shape;
  server.setRequestHandler('tasks/get', { params }, async ({ taskId }, context) => ({
    ...(await requireTask(taskId, context)),
    ...BOUNDS,
  }));
  server.setRequestHandler('tasks/update', { params }, async ({ taskId }, context) => {
    await requireTask(taskId, context);
    return {};
  });
  server.setRequestHandler('tasks/cancel', { params }, async ({ taskId }, context) => {
    const task = await requireTask(taskId, context);
    if (task.status === 'working') await tasks.cancel(task, context);
    return {};
  });
}

function requireKnowledge(context: ServerContext): void {
  if (knowsTasks(context)) return;
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION_ID_V2]: {} } };
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
}
