import type { Context } from 'hono';
import { type ErrorCode, isErrorCode, MayflyError } from '../../model/errors.ts';
import type { SourceAccess, SourceTask } from '../../model/snapshots/source-access.ts';
import { changedSource, type PlacedSource, placeSource } from '../../services/sources/source-host.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import { SOURCE_TASK } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json } from '../http/schemas.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import { accessAnswer, accessView, sourceParams, sourceTask } from './source-schemas.ts';

const route = routeOf('sources');
const pending = json('It goes on; Location says where to look', accessAnswer);

export const sourcePreparationRoutes: Route[] = [
  route('prepareSource', 'post', '/v1/sources/{name}/prepare', {
    scope: 'operator',
    summary: 'Make a running source one that can be looked at',
    description:
      'Changes the source: a program, a user, and settings of its sshd, listed in `changes`; docs/sources.md has them all. ' +
      'When any of it fails, all of it is taken back. Preparing again brings the source up to date.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceTask },
    out: { 200: json('It can be looked at, which was tried', accessAnswer), 202: pending },
    problems: [SOURCE_TASK, 'prepare_failed', 'guest_unreachable', 'host_key_mismatch', 'ssh_timeout'],
    handle: async ({ c, deps, store, params, body: { hostId } }) => {
      const source = await placeSource(store, params.name, hostId);
      return answerTask(c, deps, 'prepare', source);
    },
  }),
  route('unprepareSource', 'post', '/v1/sources/{name}/unprepare', {
    scope: 'operator',
    summary: 'Take back all that preparing changed',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceTask },
    out: { 200: json('Nothing of it is left', accessAnswer), 202: pending },
    problems: [SOURCE_TASK, 'source_not_prepared', 'prepare_failed', 'guest_unreachable'],
    handle: async ({ c, deps, store, params, body: { hostId } }) => {
      const source = await changedSource(store, params.name, hostId);
      return answerTask(c, deps, 'unprepare', source);
    },
  }),
];

async function answerTask(
  c: Context<Env>,
  deps: RequestDeps,
  task: SourceTask,
  source: PlacedSource,
): Promise<Response> {
  const { store, sagas } = deps;
  const actor = actorOf(c);
  const { id: sourceId, hostId, installationId, name } = source;
  const asked = { idFrom: () => sourceId, body: { hostId } };
  return answerOnce(c, asked, async () => {
    await sagas.sources.beginTask({ task, sourceId, hostId, installationId, name, actor });
    const isOver = await waitAsPreferred(c, (signal) => sagas.sources.taskEnded(source, signal));
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
function nothingKnown({ id, hostId, installationId, name }: PlacedSource): SourceAccess {
  return {
    id,
    hostId,
    installationId,
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
