import { randomUUID } from 'node:crypto';
import { inputRequired, inputResponse, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { createdTask, knowsTasks, registerTasks, type Task, type WorkingTask } from '../../../mcp/lib/task.ts';
import { text } from './fixture-contents.ts';

type Outcome = { status: 'completed'; result: object } | { status: 'failed'; error: object } | { status: 'cancelled' };

interface Job {
  task: WorkingTask;
  over: Outcome | null;
}

/** Tasks in this process alone; the suite needs no persistence. */
const jobs = new Map<string, Job>();
const said = (value: string) => ({ content: [text(value)] });

function begin(ms: number, outcome: Outcome): WorkingTask {
  const at = new Date().toISOString();
  const task = { status: 'working', taskId: randomUUID(), createdAt: at, lastUpdatedAt: at } as const;
  const job: Job = { task, over: null };
  jobs.set(task.taskId, job);
  setTimeout(() => (job.over ??= outcome), ms).unref();
  return task;
}

/** Registers the suite's tools with tasks. Input inside a task is missing: no tool of Mayfly needs it. */
export function registerFixtureTasks(server: McpServer): void {
  registerTasks(server, {
    get: async (taskId) => {
      const job = jobs.get(taskId);
      return job ? ({ ...job.task, ...job.over } as Task) : null;
    },
    cancel: async ({ taskId }) => {
      const job = jobs.get(taskId);
      if (job) job.over ??= { status: 'cancelled' };
    },
  });
  const tool = (name: string, inputSchema: z.ZodObject, run: (args: never, context: ServerContext) => object) =>
    server.registerTool(name, { description: name, inputSchema }, run as never);
  const none = z.object({});
  tool('greet', z.object({ name: z.string() }), ({ name }: { name: string }) => said(`Hello, ${name}!`));
  tool(
    'slow_compute',
    z.object({ seconds: z.number(), label: z.string().optional() }),
    ({ seconds }: { seconds: number }, context) => {
      const outcome = { status: 'completed', result: said(`slept ${seconds} s`) } as const;
      return seconds === 0 || !knowsTasks(context) ? outcome.result : createdTask(begin(seconds * 1_000, outcome));
    },
  );
  tool('failing_job', none, () =>
    createdTask(begin(1_000, { status: 'completed', result: { ...said('it failed'), isError: true } })),
  );
  tool('protocol_error_job', none, () =>
    createdTask(begin(500, { status: 'failed', error: { code: -32_603, message: 'it broke' } })),
  );
  tool('test_tool_with_task', none, (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'name');
    if (answer.kind !== 'missing') {
      return createdTask(begin(500, { status: 'completed', result: said(JSON.stringify(answer)) }));
    }
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as never;
    const name = inputRequired.elicit({ mode: 'form', message: 'Which name?', requestedSchema });
    return inputRequired({ inputRequests: { name } });
  });
}
