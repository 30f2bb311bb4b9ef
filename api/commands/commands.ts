import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { CommandFollower, readOutput } from '../../services/commands/command-follower.ts';
import { smallJsonOf, toGuestError } from '../../services/guests.ts';
import { ensureRunning } from '../../services/sandboxes/awake-sandbox.ts';
import { orThrow, requireSandbox } from '../../services/service-deps.ts';
import { getTail } from '../../store/commands/output-tail.ts';
import { actorOf, type Env, preferenceOf, type RequestDeps, waitLimit } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { GUEST, idempotencyHeaders, json, pageOf, pageQuery, SAGA } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventStream } from '../streams/event-stream.ts';
import {
  cancelQuery,
  commandAnswer,
  commandEvent,
  commandOutput,
  commandParams,
  outputQuery,
  startCommand,
  stdinQuery,
} from './command-schemas.ts';
import { answerStart, commandView, startAnswers } from './start-command.ts';

const route = routeOf('commands');

const ALL = '/v1/sandboxes/{id}/commands';
const ONE = `${ALL}/{commandId}`;
const bytes = z.string().openapi({ format: 'binary' });

export const commandRoutes: Route[] = [
  route('createCommand', 'post', ALL, {
    scope: 'sandboxes:write',
    summary: 'Run a command, exactly once',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: startCommand },
    ...startAnswers({
      ended: 'It has ended, however; with the beginning of its output',
      begun: 'It is going to run, runs, or waits for approval; Location says where to look',
    }),
    handle: (call) => answerStart(call, call.params.id, call.body),
  }),
  route('listCommands', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the commands of a sandbox, newest first',
    in: { params: sandboxParams, query: pageQuery },
    out: { 200: json('One page', pageOf(commandAnswer)) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, store, params: { id }, query }) => {
      await requireSandbox(deps, id);
      return store.commands.list({ sandboxId: id, ...query });
    },
  }),
  route('getCommand', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one command',
    in: { params: commandParams },
    out: { 200: json('The command', commandAnswer) },
    problems: ['sandbox_not_found', 'command_not_found'],
    handle: async ({ deps, params }) => await requireCommand(deps, params),
  }),
  route('getCommandOutput', 'get', `${ONE}/output`, {
    scope: 'sandboxes:read',
    summary: 'Read what is stored of a stream',
    description:
      '`X-Mayfly-Next-Offset` is where to go on, `X-Mayfly-Ended` says whether this was all, ' +
      '`X-Mayfly-Truncated` whether the command wrote more than is kept.',
    in: { params: commandParams, query: outputQuery },
    out: { 200: { description: 'The bytes', content: { 'application/octet-stream': { schema: bytes } } } },
    problems: ['sandbox_not_found', 'command_not_found', 'range_not_satisfiable'],
    handle: async ({ c, deps, params, query }) => {
      const record = await requireCommand(deps, params);
      return answerOutput(c, deps, record, query);
    },
  }),
  route('cancelCommand', 'post', `${ONE}/cancel`, {
    scope: 'sandboxes:write',
    summary: "End a command's whole process tree: the signal, SIGTERM, then SIGKILL",
    in: { params: commandParams, query: cancelQuery },
    out: {
      200: json('It has ended already', commandAnswer),
      202: json('It is being ended, as soon as its host and its guest can be reached', commandAnswer),
    },
    problems: [SAGA, 'sandbox_not_found', 'command_not_found', 'command_ended'],
    handle: async ({ c, deps, params, query }) => {
      const record = await requireCommand(deps, params);
      if (record.state === 'ended') return record;
      await deps.sagas.commands.cancel(record.id, actorOf(c), query.signal);
      return reply(202, record);
    },
  }),
  route('writeCommandStdin', 'post', `${ONE}/stdin`, {
    scope: 'sandboxes:write',
    summary: 'Write to standard input',
    description: `The body is the bytes, at most ${LIMITS.command.stdinBytes}; \`offset\` is how many were written before, so that a repetition does no harm; \`close\` ends standard input after them.`,
    in: {
      params: commandParams,
      query: stdinQuery,
      media: { content: { 'application/octet-stream': { schema: bytes } } },
    },
    out: { 200: json('The offset to go on from', z.object({ offset: z.int() })) },
    problems: [
      GUEST,
      'body_too_large',
      'unsupported_media_type',
      'command_not_found',
      'command_ended',
      'stdin_conflict',
    ],
    handle: async ({ c, deps, params, query }) => {
      const record = await requireCommand(deps, params);
      return answerStdin(c, deps, record, query);
    },
  }),
];

/** @throws MayflyError command_not_found, also for a command of another sandbox */
async function requireCommand(
  { store }: Pick<RequestDeps, 'store'>,
  { id, commandId }: { id: string; commandId: string },
): Promise<CommandRecord> {
  const record = await store.commands.get(commandId);
  return orThrow(
    record?.sandboxId === id && record,
    'command_not_found',
    `There is no command ${commandId} in the sandbox ${id}.`,
  );
}

/** Answers GET …/output: streams the stored bytes of one stream. */
export async function answerOutput(
  c: Context<Env>,
  { store }: RequestDeps,
  record: CommandRecord,
  {
    stream,
    offset = 0,
    limit = Number.MAX_SAFE_INTEGER,
  }: { stream: OutputStream; offset?: number | undefined; limit?: number | undefined },
): Promise<Response> {
  const hasEnded = record.state === 'ended';
  const stored = hasEnded ? record[stream].kept : (await getTail(store.output, record.id))[stream].end;
  const end = Math.max(offset, Math.min(stored, offset + limit));
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(end - offset),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'X-Mayfly-Next-Offset': String(end),
    'X-Mayfly-Ended': String(hasEnded && end >= stored),
    'X-Mayfly-Truncated': String(record[stream].bytes > record[stream].kept),
  };
  return c.body(readOutput(store, record.id, stream, { offset, end }), 200, headers);
}

const accepted = z.object({ offset: z.int().min(0) });

/**
 * Answers POST …/stdin.
 * @throws MayflyError command_ended, stdin_conflict with the offset to continue from, host_unavailable,
 *   guest_unreachable, and as {@link ensureRunning}
 */
async function answerStdin(
  c: Context<Env>,
  deps: RequestDeps,
  record: CommandRecord,
  { offset = 0, close }: { offset?: number | undefined; close?: 'true' | 'false' | undefined },
): Promise<{ offset: number }> {
  if (record.state === 'ended') throw new MayflyError('command_ended', `The command ${record.id} has ended.`);
  const { store, guests } = deps;
  const wait = waitLimit(c, preferenceOf(c.req.header('prefer')).seconds);
  await ensureRunning(deps, record.sandboxId, actorOf(c), wait);
  const body = new Uint8Array(await c.req.arrayBuffer());
  const path = `/commands/${record.id}/stdin?offset=${offset}&close=${close ?? 'false'}`;
  const { signal } = c.req.raw;
  const answer = await guests.request(record.hostId, path, { method: 'POST', body, signal });
  if (!answer.ok) throw await toGuestError(answer);
  await store.activity.touch(record.sandboxId);
  const told = accepted.safeParse(await smallJsonOf(answer));
  if (told.success) return told.data;
  throw new MayflyError('guest_failed', 'The guest did not say how much of standard input it has taken.');
}

export const commandEventRoutes: Route[] = [
  (app) => app.openAPIRegistry.register('CommandOutput', commandOutput),
  route('watchCommand', 'get', '/v1/sandboxes/{id}/commands/{commandId}/events', {
    scope: 'sandboxes:read',
    summary: 'Follow the output of a command until its end',
    description:
      'Server-sent events. `output`: what the command wrote, `{stream, at, offset, text}` or, where it is not UTF-8, `base64`, ' +
      'live and in the order in which it was written; the event id says how much of both streams has been sent, so that ' +
      '`Last-Event-ID` goes on after it. `ended`: the command, when all was sent.',
    in: {
      params: commandParams,
      headers: z.object({
        'last-event-id': z
          .string()
          .regex(/^(?:\d{1,10}-\d{1,10})?$/, 'must be the id of an event')
          .optional(),
      }),
    },
    out: { 200: eventStream('Until its end', commandEvent) },
    problems: ['sandbox_not_found', 'command_not_found', 'too_many_requests', 'project_quota_exceeded'],
    handle: async ({ c, deps, params, headers }) => {
      const record = await requireCommand(deps, params);
      const [stdout = 0, stderr = 0] = (headers['last-event-id'] || '0-0').split('-').map(Number);
      const what = { kind: 'commands', of: { commandId: record.id } } as const;
      return answerEvents(c, what, (sink) => follow(deps, sink, record, { stdout, stderr }));
    },
  }),
];

async function follow(
  deps: RequestDeps,
  sink: EventSink,
  record: CommandRecord,
  from: { stdout: number; stderr: number },
): Promise<void> {
  const follower = new CommandFollower(deps, record, from, sink.gone);
  for await (const { place, ...data } of follower.pieces()) {
    await sink.send({ id: `${place.stdout}-${place.stderr}`, event: 'output', data: JSON.stringify(data) });
  }
  const ended = await requireCommand(deps, { id: record.sandboxId, commandId: record.id });
  await sink.send({ event: 'ended', data: JSON.stringify(commandView(ended)) });
}
