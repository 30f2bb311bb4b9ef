import { createRoute, z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type RequestDeps, serialised } from '../http/context.ts';
import { GUEST, problems, SAGA } from '../http/problem-answers.ts';
import { idempotencyHeaders, json, noQuery, pageOf } from '../http/schemas.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { answerOutput } from './command-output.ts';
import {
  commandAnswer,
  commandListQuery,
  commandParams,
  outputQuery,
  startCommand,
  stdinQuery,
} from './command-schemas.ts';
import { answerStdin } from './command-stdin.ts';
import { commandView } from './command-view.ts';
import { startAnswers } from './start-answers.ts';
import { answerStart } from './start-command.ts';

const ALL = '/v1/sandboxes/{id}/commands';
const ONE = `${ALL}/{commandId}`;
const tags = ['commands'];
const bytes = z.string().openapi({ format: 'binary' });

const startOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'runCommand',
  summary: 'Run a command, exactly once',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: true, content: { 'application/json': { schema: startCommand } } },
  },
  responses: startAnswers({
    ended: 'It has ended, however; with the beginning of its output',
    begun: 'It is going to run, runs, or waits for approval; Location says where to look',
  }),
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listCommands',
  summary: 'List the commands of a sandbox, newest first',
  middleware: [requires('sandboxes:read')],
  request: { params: sandboxParams, query: commandListQuery },
  responses: { 200: json('One page', pageOf(commandAnswer)), ...problems('sandbox_not_found') },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getCommand',
  summary: 'Read one command',
  middleware: [requires('sandboxes:read')],
  request: { params: commandParams, query: noQuery },
  responses: { 200: json('The command', commandAnswer), ...problems('sandbox_not_found', 'command_not_found') },
});

const getOutput = createRoute({
  method: 'get',
  path: `${ONE}/output`,
  tags,
  operationId: 'getCommandOutput',
  summary: 'Read what is stored of a stream',
  description:
    '`X-Mayfly-Next-Offset` is where to go on, `X-Mayfly-Ended` says whether this was all, ' +
    '`X-Mayfly-Truncated` whether the command wrote more than is kept.',
  middleware: [requires('sandboxes:read')],
  request: { params: commandParams, query: outputQuery },
  responses: {
    200: { description: 'The bytes', content: { 'application/octet-stream': { schema: bytes } } },
    ...problems('sandbox_not_found', 'command_not_found', 'range_not_satisfiable'),
  },
});

const cancelOne = createRoute({
  method: 'post',
  path: `${ONE}/cancel`,
  tags,
  operationId: 'cancelCommand',
  summary: "End a command's whole process tree: SIGTERM, then SIGKILL",
  middleware: [requires('sandboxes:write')],
  request: { params: commandParams, query: noQuery },
  responses: {
    200: json('It has ended already', commandAnswer),
    202: json('It is being ended, as soon as its host and its guest can be reached', commandAnswer),
    ...problems(SAGA, 'sandbox_not_found', 'command_not_found', 'command_ended'),
  },
});

const addStdin = createRoute({
  method: 'post',
  path: `${ONE}/stdin`,
  tags,
  operationId: 'writeCommandStdin',
  summary: 'Write to standard input',
  description: `The body is the bytes, at most ${LIMITS.command.stdinBytes}; \`offset\` is how many were written before, so that a repetition does no harm; \`close\` ends standard input after them.`,
  middleware: [requires('sandboxes:write')],
  request: {
    params: commandParams,
    query: stdinQuery,
    body: { content: { 'application/octet-stream': { schema: bytes } } },
  },
  responses: {
    200: json('The offset to go on from', z.object({ offset: z.int() })),
    ...problems(
      GUEST,
      'body_too_large',
      'unsupported_media_type',
      'command_not_found',
      'command_ended',
      'stdin_conflict',
    ),
  },
});

export function commandRoutes(app: App): void {
  app.openapi(startOne, async (c) => {
    const { id } = c.req.valid('param');
    return serialised(await answerStart(c, c.get('deps'), id, c.req.valid('json'), c.req.valid('header')));
  });
  app.openapi(listAll, async (c) => {
    const { id } = c.req.valid('param');
    const { limit = LIMITS.page.default, cursor } = c.req.valid('query');
    await requireSandbox(c.get('deps'), id);
    const page = await c
      .get('deps')
      .store.commands.list({ sandboxId: id, limit, ...(cursor !== undefined && { cursor }) });
    return c.json({ ...page, items: page.items.map(commandView) }, 200);
  });
  app.openapi(getOne, async (c) => c.json(commandView(await requireCommand(c.get('deps'), c.req.valid('param'))), 200));
  app.openapi(getOutput, async (c) => {
    const record = await requireCommand(c.get('deps'), c.req.valid('param'));
    return serialised(await answerOutput(c, c.get('deps'), record, c.req.valid('query')));
  });
  app.openapi(cancelOne, async (c) => {
    const record = await requireCommand(c.get('deps'), c.req.valid('param'));
    if (record.state === 'ended') return c.json(commandView(record), 200);
    await c.get('deps').sagas.cancelCommand(record.id, actorOf(c));
    return c.json(commandView(record), 202);
  });
  app.openapi(addStdin, async (c) => {
    const record = await requireCommand(c.get('deps'), c.req.valid('param'));
    return c.json(await answerStdin(c, c.get('deps'), record, c.req.valid('query')), 200);
  });
}

/** @throws MayflyError command_not_found, also for a command of another sandbox */
export async function requireCommand(
  { store }: Pick<RequestDeps, 'store'>,
  { id, commandId }: { id: string; commandId: string },
): Promise<CommandRecord> {
  const record = await store.commands.get(commandId);
  if (record?.sandboxId === id) return record;
  throw new MayflyError('command_not_found', `There is no command ${commandId} in the sandbox ${id}.`);
}
