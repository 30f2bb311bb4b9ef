import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import { sha256 } from '../../services/intake/accept-event.ts';
import { cancelAndRead } from '../../services/runs/cancel-run.ts';
import { parseKey, readListedContents } from '../../services/runs/listed-contents.ts';
import { readArtifact, readResult, readRunDiff } from '../../services/runs/run-content.ts';
import { isOver } from '../../services/runs/run-watch.ts';
import { requireRun } from '../../services/service-deps.ts';
import { auditPage, pageOfChain } from '../audit/audit.ts';
import { answerOutput } from '../commands/commands.ts';
import { diffLine } from '../diff/diff-schemas.ts';
import { actorOf, preferenceOf, type RequestDeps } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { auditQuery, json, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventData, eventStream } from '../streams/event-stream.ts';
import { answerContent, endOfRun, outputQuery, runAnswer, runParams, runsQuery, runView } from './run-schemas.ts';

const route = routeOf('runs');

const ONE = '/v1/runs/{id}';
const bytes = (description: string) => ({
  description,
  content: { 'application/octet-stream': { schema: z.string().openapi({ format: 'binary' }) } },
});

export const runRoutes: Route[] = [
  route('listRuns', 'get', '/v1/runs', {
    scope: 'sandboxes:read',
    summary: 'List the runs of the project, newest first',
    in: { query: runsQuery },
    out: { 200: json('One page', pageOf(runAnswer)) },
    handle: async ({ deps, store, query }) => {
      const { limit, key, deadLetter, contents, ...rest } = query;
      const keys = key === undefined ? undefined : parseKey(key);
      const page = await store.runs.list({ limit, ...rest, keys, deadLetter: deadLetter === 'true' });
      if (contents !== 'true') return { ...page, items: page.items.map(runView) };
      const items: z.input<typeof runAnswer>[] = [];
      for (const run of page.items) items.push({ ...runView(run), contents: await readListedContents(deps, run) });
      return { ...page, items };
    },
  }),
  route('getRun', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read how a run is coming along, and how it ended',
    description: 'With `Prefer: wait` the answer is held back until nothing of the run is left, or the time is over.',
    in: { params: runParams, headers: preferHeaders },
    out: { 200: json('The run', runAnswer) },
    problems: ['run_not_found'],
    handle: async ({ c, deps, params, headers }) => {
      const run = await requireRun(deps, params.id);
      const { seconds, applied } = preferenceOf(headers.prefer);
      if (applied === null) return runView(run);
      return runView(await endOfRun(c, deps, run, { watch: deps.runWatch, until: 'clean', seconds }));
    },
  }),
  route('getRunResult', 'get', `${ONE}/result`, {
    scope: 'sandboxes:read',
    summary: 'Fetch what a run wrote as its result, with its own content type',
    in: { params: runParams },
    out: {
      200: {
        description: 'The result',
        content: { ...bytes('').content, 'application/json': { schema: z.unknown() } },
      },
    },
    problems: ['run_not_found', 'run_not_ended', 'run_without_result'],
    handle: async ({ c, deps, params }) => {
      const run = await requireRun(deps, params.id);
      return answerContent(c, readResult(deps, run), run.result?.partial);
    },
  }),
  route('getRunArtifact', 'get', `${ONE}/artifacts/{path}`, {
    scope: 'sandboxes:read',
    summary: 'Fetch a file that a run has left as an artifact',
    in: {
      params: runParams.extend({
        path: z.string().max(LIMITS.path.maxBytes).openapi({ description: 'Percent-encoded, slashes too' }),
      }),
    },
    out: { 200: bytes('The file') },
    problems: ['run_not_found', 'run_not_ended', 'run_without_result'],
    handle: async ({ c, deps, params: { id, path } }) =>
      answerContent(c, readArtifact(deps, await requireRun(deps, id), path)),
  }),
  route('getRunDiff', 'get', `${ONE}/diff`, {
    scope: 'sandboxes:read',
    summary: 'Fetch what the process of a run changed in the file system of its sandbox',
    in: { params: runParams },
    out: {
      200: {
        description: 'A line for each change, as of two snapshots; the last is `end`, with their counts',
        content: { 'application/x-ndjson': { schema: diffLine } },
      },
    },
    problems: ['run_not_found', 'run_not_ended', 'run_without_result'],
    handle: async ({ c, deps, params }) => answerContent(c, readRunDiff(deps, await requireRun(deps, params.id))),
  }),
  route('getRunOutput', 'get', `${ONE}/output`, {
    scope: 'sandboxes:read',
    summary: 'Read what the process of a run printed, as far as it is stored now',
    in: { params: runParams, query: outputQuery },
    out: { 200: bytes('The bytes of one stream') },
    problems: ['run_not_found', 'command_not_found'],
    handle: async ({ c, deps, params, query: { attempt, ...range } }) => {
      const command = await commandOf(deps, await requireRun(deps, params.id), attempt);
      return answerOutput(c, deps, command, range);
    },
  }),
  route('getRunAudit', 'get', `${ONE}/audit`, {
    scope: 'sandboxes:read',
    summary: 'What happened to a run',
    in: { params: runParams, query: auditQuery },
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['run_not_found'],
    handle: async ({ deps, params: { id }, query }) => {
      await requireRun(deps, id);
      return pageOfChain(deps, id, query);
    },
  }),
  route('cancelRun', 'post', `${ONE}/cancel`, {
    scope: 'sandboxes:write',
    summary: 'Have a run end: its process is ended, and its sandbox is destroyed',
    in: { params: runParams },
    out: { 200: json('It has ended, now or before', runAnswer), 202: json('It is being ended', runAnswer) },
    problems: ['run_not_found', 'run_in_batch', 'temporal_unavailable'],
    handle: async ({ c, deps, params }) => {
      const run = await cancelAndRead(deps, await requireRun(deps, params.id), actorOf(c));
      return reply(run.state === 'ended' ? 200 : 202, runView(run));
    },
  }),
];

/** @throws MayflyError command_not_found */
async function commandOf({ store }: RequestDeps, run: RunRecord, n = run.attempts.length) {
  const attempt = run.attempts[n - 1];
  const command = attempt && (await store.commands.get(attempt.commandId));
  if (command) return command;
  throw new MayflyError(
    'command_not_found',
    `No process of ${run.id} was started${n > 0 ? ` by its attempt ${n}` : ''}.`,
  );
}

/** Poll interval of the store for each of a few listeners, ms: one read by id. */
const POLL_MS = 250;
/** Number of listeners above which each is polled less often. */
const FEW = 32;
/** Number of hex digits of the digest that is an event's id. */
const ID_LENGTH = 16;

/** Schema of an event's `data`, without the artifacts: up to a thousand, constant after the end. */
const runProgress = runAnswer.omit({ artifacts: true }).openapi('RunProgress');

const runEvent = z
  .object({ event: z.literal('run'), id: z.string(), data: eventData('RunProgress') })
  .openapi('RunChange', { description: 'The run as it is now, without its artifacts; `id` is of what it says.' });

export const runEventRoutes: Route[] = [
  (app) => app.openAPIRegistry.register('RunProgress', runProgress),
  route('watchRun', 'get', '/v1/runs/{id}/events', {
    scope: 'sandboxes:read',
    summary: 'Follow a run until nothing of it is left',
    description:
      'Server-sent events `run`: the run as it is now, at first and after every change. Whoever comes again with `Last-Event-ID` is sent what it does not know.',
    in: {
      params: runParams,
      headers: z.object({
        'last-event-id': z
          .string()
          .regex(/^[0-9a-f]{0,16}$/, 'must be the id of an event')
          .optional(),
      }),
    },
    out: { 200: eventStream('Until it has ended, and its cleanup is not pending', runEvent) },
    problems: ['run_not_found', 'too_many_requests', 'project_quota_exceeded'],
    handle: async ({ c, deps, params: { id }, headers }) => {
      const seen = headers['last-event-id'] ?? '';
      await requireRun(deps, id);
      const pauseMs = () => POLL_MS * Math.max(1, deps.streams.count('runs') / FEW);
      return answerEvents(c, { kind: 'runs', of: { runId: id } }, (sink) => follow(deps, sink, { id, seen, pauseMs }));
    },
  }),
];

async function follow(
  deps: RequestDeps,
  sink: EventSink,
  { id, seen: known, pauseMs }: { id: string; seen: string; pauseMs: () => number },
): Promise<void> {
  let seen = known;
  while (!sink.gone.aborted) {
    const run = await requireRun(deps, id);
    const { artifacts: _artifacts, ...progress } = runView(run);
    const data = JSON.stringify(progress);
    const eventId = sha256(data).slice(0, ID_LENGTH);
    if (eventId !== seen) await sink.send({ id: eventId, event: 'run', data });
    seen = eventId;
    if (isOver(run, 'clean')) return;
    await sink.pause(pauseMs());
  }
}
