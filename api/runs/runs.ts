import { createRoute, z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import { auditPage, pageOfChain } from '../audit/audit-page.ts';
import { answerOutput } from '../commands/command-output.ts';
import { diffLine } from '../diff/diff-schemas.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, answerRaw, type RequestDeps, serialised } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { problems } from '../http/problem-answers.ts';
import { auditQuery, json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { cancelled } from './cancel-run.ts';
import { endOfRun } from './end-of-run.ts';
import { keysNamed } from './keys-named.ts';
import { listedContents } from './listed-contents.ts';
import { answerArtifact, answerResult, answerRunDiff } from './result.ts';
import { outputQuery, runAnswer, runParams, runsQuery } from './run-schemas.ts';
import { requireRun, runView } from './run-view.ts';
import type { RunWatch } from './run-watch.ts';

const ONE = '/v1/runs/{id}';
const tags = ['runs'];
const reading = [requires('sandboxes:read')];
const bytes = (description: string) => ({
  description,
  content: { 'application/octet-stream': { schema: z.string().openapi({ format: 'binary' }) } },
});

const listAll = createRoute({
  method: 'get',
  path: '/v1/runs',
  tags,
  operationId: 'listRuns',
  summary: 'List the runs of the project, newest first',
  middleware: reading,
  request: { query: runsQuery },
  responses: { 200: json('One page', pageOf(runAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getRun',
  summary: 'Read how a run is coming along, and how it ended',
  description: 'With `Prefer: wait` the answer is held back until nothing of the run is left, or the time is over.',
  middleware: reading,
  request: { params: runParams, query: noQuery, headers: preferHeaders },
  responses: { 200: json('The run', runAnswer), ...problems('run_not_found') },
});

const resultOf = createRoute({
  method: 'get',
  path: `${ONE}/result`,
  tags,
  operationId: 'getRunResult',
  summary: 'Fetch what a run wrote as its result, with its own content type',
  middleware: reading,
  request: { params: runParams, query: noQuery },
  responses: {
    200: {
      description: 'The result',
      content: { ...bytes('').content, 'application/json': { schema: z.unknown() } },
    },
    ...problems('run_not_found', 'run_not_ended', 'run_without_result'),
  },
});

const artifactOf = createRoute({
  method: 'get',
  path: `${ONE}/artifacts/{path}`,
  tags,
  operationId: 'getRunArtifact',
  summary: 'Fetch a file that a run has left as an artifact',
  middleware: reading,
  request: {
    params: runParams.extend({
      path: z
        .string()
        .max(LIMITS.path.maxBytes)
        .openapi({ param: { name: 'path', in: 'path' }, description: 'Percent-encoded, slashes too' }),
    }),
    query: noQuery,
  },
  responses: { 200: bytes('The file'), ...problems('run_not_found', 'run_not_ended', 'run_without_result') },
});

const diffOf = createRoute({
  method: 'get',
  path: `${ONE}/diff`,
  tags,
  operationId: 'getRunDiff',
  summary: 'Fetch what the process of a run changed in the file system of its sandbox',
  middleware: reading,
  request: { params: runParams, query: noQuery },
  responses: {
    200: {
      description: 'A line for each change, as of two snapshots; the last is `end`, with their counts',
      content: { 'application/x-ndjson': { schema: diffLine } },
    },
    ...problems('run_not_found', 'run_not_ended', 'run_without_result'),
  },
});

const outputOf = createRoute({
  method: 'get',
  path: `${ONE}/output`,
  tags,
  operationId: 'getRunOutput',
  summary: 'Read what the process of a run printed, as far as it is stored now',
  middleware: reading,
  request: { params: runParams, query: outputQuery },
  responses: { 200: bytes('The bytes of one stream'), ...problems('run_not_found', 'command_not_found') },
});

const auditOf = createRoute({
  method: 'get',
  path: `${ONE}/audit`,
  tags,
  operationId: 'getRunAudit',
  summary: 'What happened to a run',
  middleware: reading,
  request: { params: runParams, query: auditQuery },
  responses: { 200: json('One page, oldest first', auditPage), ...problems('run_not_found') },
});

const cancelOne = createRoute({
  method: 'post',
  path: `${ONE}/cancel`,
  tags,
  operationId: 'cancelRun',
  summary: 'Have a run end: its process is ended, and its sandbox is destroyed',
  middleware: [requires('sandboxes:write')],
  request: { params: runParams, query: noQuery },
  responses: {
    200: json('It has ended, now or before', runAnswer),
    202: json('It is being ended', runAnswer),
    ...problems('run_not_found', 'run_in_batch', 'temporal_unavailable'),
  },
});

export function runRoutes(app: App, watch: RunWatch): void {
  app.openapi(listAll, async (c) => {
    const { limit = LIMITS.page.default, key, deadLetter, contents, ...query } = c.req.valid('query');
    const keys = key === undefined ? undefined : keysNamed(key);
    const deps = c.get('deps');
    const page = await deps.store.runs.list({ limit, ...query, keys, deadLetter: deadLetter === 'true' });
    if (contents !== 'true') return c.json({ ...page, items: page.items.map(runView) }, 200);
    const items: object[] = [];
    for (const run of page.items) items.push({ ...runView(run), contents: await listedContents(deps, run) });
    return answerRaw(c, { ...page, items }, 200);
  });
  app.openapi(getOne, async (c) => {
    const deps = c.get('deps');
    const run = await requireRun(deps, c.req.valid('param').id);
    const { seconds, applied } = preferenceOf(c.req.valid('header').prefer);
    if (applied === null) return c.json(runView(run), 200);
    c.header('Preference-Applied', applied);
    return c.json(runView(await endOfRun(c, deps, run, { watch, until: 'clean', seconds })), 200);
  });
  app.openapi(resultOf, async (c) => {
    const deps = c.get('deps');
    return serialised(await answerResult(c, deps, await requireRun(deps, c.req.valid('param').id)));
  });
  app.openapi(artifactOf, async (c) => {
    const { id, path } = c.req.valid('param');
    const deps = c.get('deps');
    return serialised(await answerArtifact(c, deps, await requireRun(deps, id), path));
  });
  app.openapi(diffOf, async (c) => {
    const deps = c.get('deps');
    return serialised(await answerRunDiff(c, deps, await requireRun(deps, c.req.valid('param').id)));
  });
  app.openapi(outputOf, async (c) => {
    const { attempt, ...range } = c.req.valid('query');
    const deps = c.get('deps');
    const command = await commandOf(deps, await requireRun(deps, c.req.valid('param').id), attempt);
    return serialised(await answerOutput(c, deps, command, range));
  });
  app.openapi(auditOf, async (c) => {
    const { id } = c.req.valid('param');
    await requireRun(c.get('deps'), id);
    return c.json(await pageOfChain(c.get('deps'), id, c.req.valid('query')), 200);
  });
  app.openapi(cancelOne, async (c) => {
    const deps = c.get('deps');
    const run = await cancelled(deps, await requireRun(deps, c.req.valid('param').id), actorOf(c));
    return c.json(runView(run), run.state === 'ended' ? 200 : 202);
  });
}

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
