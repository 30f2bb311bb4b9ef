import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type ErrorCode, isErrorCode, MayflyError } from '../../model/errors.ts';
import type { SourceAccess, SourceTask } from '../../model/snapshots/source-access.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { preferenceOf } from '../http/prefer.ts';
import { problemResponse } from '../http/problem.ts';
import { problems, SOURCE_TASK } from '../http/problem-answers.ts';
import { type IdempotencyHeaders, idempotencyHeaders, json, noQuery } from '../http/schemas.ts';
import { waitWithin } from '../http/waiting.ts';
import { accessView } from './access-view.ts';
import { changedSource, type PlacedSource, placeSource } from './source-host.ts';
import { sourceAccess, sourceParams, sourceTask } from './source-schemas.ts';

const request = {
  params: sourceParams,
  query: noQuery,
  headers: idempotencyHeaders,
  body: { required: false, content: { 'application/json': { schema: sourceTask } } },
};
const pending = json('It goes on; Location says where to look', sourceAccess);

const prepareOne = createRoute({
  method: 'post',
  path: '/v1/sources/{name}/prepare',
  tags: ['sources'],
  operationId: 'prepareSource',
  summary: 'Make a running source one that can be looked at',
  description:
    'Changes the source: a program, a user, and settings of its sshd, listed in `changes`; docs/sources.md has them all. ' +
    'When any of it fails, all of it is taken back. Preparing again brings the source up to date.',
  middleware: [requires('operator')],
  request,
  responses: {
    200: json('It can be looked at, which was tried', sourceAccess),
    202: pending,
    ...problems(SOURCE_TASK, 'prepare_failed', 'guest_unreachable', 'host_key_mismatch', 'ssh_timeout'),
  },
});

const unprepareOne = createRoute({
  method: 'post',
  path: '/v1/sources/{name}/unprepare',
  tags: ['sources'],
  operationId: 'unprepareSource',
  summary: 'Take back all that preparing changed',
  middleware: [requires('operator')],
  request,
  responses: {
    200: json('Nothing of it is left', sourceAccess),
    202: pending,
    ...problems(SOURCE_TASK, 'source_not_prepared', 'prepare_failed', 'guest_unreachable'),
  },
});

export function sourcePreparationRoutes(app: App): void {
  app.openapi(prepareOne, async (c) => {
    const { hostId } = c.req.valid('json');
    const source = await placeSource(c.get('deps').store, c.req.valid('param').name, hostId);
    return serialised(await answerTask(c, c.get('deps'), 'prepare', source, c.req.valid('header')));
  });
  app.openapi(unprepareOne, async (c) => {
    const { hostId } = c.req.valid('json');
    const source = await changedSource(c.get('deps').store, c.req.valid('param').name, hostId);
    return serialised(await answerTask(c, c.get('deps'), 'unprepare', source, c.req.valid('header')));
  });
}

async function answerTask(
  c: Context<Env>,
  deps: RequestDeps,
  task: SourceTask,
  source: PlacedSource,
  headers: IdempotencyHeaders,
): Promise<Response> {
  const { store, sagas } = deps;
  const actor = actorOf(c);
  const { id: sourceId, hostId, installationId = null, name } = source;
  const asked = { idFrom: () => sourceId, key: headers['idempotency-key'], body: { hostId } };
  return answerOnce(c, store, asked, async () => {
    await sagas.sourceTask({ task, sourceId, hostId, installationId, name, actor });
    const preference = preferenceOf(headers.prefer);
    const isOver = await waitWithin(c, deps, preference.seconds, (signal) => sagas.sourceTaskEnded(source, signal));
    if (preference.applied) c.header('Preference-Applied', preference.applied);
    c.header('Location', `/v1/sources/${encodeURIComponent(name)}`);
    const record = (await store.sources.get(sourceId)) ?? nothingKnown(source);
    const response = isOver ? answerFor(c, task, record) : c.json(accessView(record), 202);
    return { response, isKept: isOver && isHeard(c) };
  });
}

function answerFor(c: Context<Env>, task: SourceTask, record: SourceAccess): Response {
  const { failure, state } = record;
  if (task === 'unprepare' || (state === 'prepared' && failure === null)) return c.json(accessView(record), 200);
  if (failure === null) return c.json(accessView(record), 202); // taken over by an unprepare meanwhile
  return problemResponse(c, new MayflyError(codeOf(failure.code), `${failure.step}: ${failure.message}`));
}

/** What the caller can act on keeps its name; all else is that the source could not be prepared. */
const OWN_CODES: ReadonlySet<ErrorCode> = new Set(['source_not_running', 'source_not_found', 'host_unavailable']);

function codeOf(code: string): ErrorCode {
  return isErrorCode(code) && OWN_CODES.has(code) ? code : 'prepare_failed';
}

/** Its workflow has begun, and has not written yet. */
function nothingKnown({ id, hostId, name }: PlacedSource): SourceAccess {
  return {
    id,
    hostId,
    name,
    state: 'unprepared',
    sshd: null,
    gateVersion: null,
    changes: [],
    preparedAt: null,
    preparedBy: null,
    failure: null,
    waitingFor: null,
    updatedAt: new Date().toISOString(),
  };
}
