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

/** How often who waits for a task may look. Milliseconds. */
const POLL_MS = 2_000;
/** How long one can be looked at after it was begun: records stay for longer, unless an operator wants less than a day. Milliseconds. */
const TTL_MS = 86_400_000;

/** What goes on behind a call that was answered. Its id is that of the operation itself, so any process knows it. */
export type Task = DetailedTaskV2 extends infer One ? (One extends unknown ? Omit<One, keyof Bounds> : never) : never;

/** One that is not over. */
export type WorkingTask = Extract<Task, { status: 'working' }>;

type Bounds = Pick<DetailedTaskV2, 'ttlMs' | 'pollIntervalMs'>;

const BOUNDS = { ttlMs: TTL_MS, pollIntervalMs: POLL_MS } satisfies Bounds;

/** Where tasks are looked at, and ended. */
export interface Tasks {
  /** @returns null when there is no such task for this caller */
  get(taskId: string, context: ServerContext): Promise<Task | null>;
  /** Ends what goes on, and nothing of what is over. */
  cancel(task: Task, context: ServerContext): Promise<void>;
}

/** Whether the client of a request has said that it knows tasks (2026-07-28: each request says so). */
export function knowsTasks({ mcpReq }: ServerContext): boolean {
  return hasTaskClientCapabilityV2({ _meta: mcpReq.envelope });
}

/** What a call answers about what goes on. */
export function createdTask(task: WorkingTask) {
  return { resultType: 'task', ...task, ...BOUNDS };
}

/**
 * Serves the extension `io.modelcontextprotocol/tasks`. Nothing asks for input in a task, so what `tasks/update` brings has no
 * effect.
 */
export function registerTasks({ server }: McpServer, tasks: Tasks): void {
  server.registerCapabilities({ extensions: { [TASKS_EXTENSION_ID_V2]: {} } });
  const found = async (taskId: string, context: ServerContext): Promise<Task> => {
    requireKnowledge(context);
    const task = await tasks.get(taskId, context);
    if (!task) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${taskId}.`);
    return task;
  };
  // What comes with an update is taken out of its params before they are looked at.
  const { params } = GetTaskRequestV2Schema.shape;
  server.setRequestHandler('tasks/get', { params }, async ({ taskId }, context) => ({
    ...(await found(taskId, context)),
    ...BOUNDS,
  }));
  server.setRequestHandler('tasks/update', { params }, async ({ taskId }, context) => {
    await found(taskId, context);
    return {};
  });
  server.setRequestHandler('tasks/cancel', { params }, async ({ taskId }, context) => {
    const task = await found(taskId, context);
    if (task.status === 'working') await tasks.cancel(task, context);
    return {};
  });
}

function requireKnowledge(context: ServerContext): void {
  if (knowsTasks(context)) return;
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION_ID_V2]: {} } };
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
}
