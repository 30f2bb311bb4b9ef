import type { z } from '@hono/zod-openapi';
import { type ErrorCode, isErrorCode, MayflyError } from '../../model/errors.ts';
import type { SourceAccess, SourceTask } from '../../model/snapshots/source-access.ts';
import type { SourcePowerOutcome, SourcePowerTask } from '../../model/snapshots/source-power.ts';
import { changedSource, type PlacedSource, placeSource } from '../../services/sources/source-host.ts';
import { actorOf, waitAsPreferred } from '../http/context.ts';
import { fail, type Outcome, type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, SAGA, SOURCE_TASK } from '../http/schemas.ts';
import { answerOnce, isClientConnected, keep } from '../idempotency/answer-once.ts';
import { accessAnswer, sourceParams, sourcePower, sourceTask, stopSource } from './source-schemas.ts';

const route = routeOf('sources');

const ONE = '/v1/sources/{name}';
const location = ({ name }: { name: string }) => `/v1/sources/${encodeURIComponent(name)}`;
const TASK = [SAGA, 'source_not_found', 'no_host', 'too_many_requests'] as const;
const powerPending = json('It goes on; ask again, which is no second one', sourcePower);
const accessPending = json('It goes on; Location says where to look', accessAnswer);

export const sourceTaskRoutes: Route[] = [
  route('startSource', 'post', `${ONE}/start`, {
    scope: 'operator',
    summary: 'Start a source that is shut off',
    description:
      'Answers when its guest agent does, or has not in time. Refused while a sandbox, a snapshot or another domain refers to its ' +
      'disks, which it would change below them, and for the images of Mayfly. While it runs, sandboxes are made of its captures.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceTask },
    out: { 200: json('It runs', sourcePower), 202: powerPending },
    problems: [...TASK, 'source_read_only', 'source_in_use', 'source_start_failed'],
    location,
    handle: async (call) =>
      answerPower(call, 'start', await placeSource(call.store, call.params.name, call.body.hostId)),
  }),
  route('stopSource', 'post', `${ONE}/stop`, {
    scope: 'operator',
    summary: 'Shut a source down',
    description:
      'Its guest is asked to, and has three minutes. `force` pulls the cord, also of one that is being stopped.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: stopSource },
    out: { 200: json('It is shut off', sourcePower), 202: powerPending },
    problems: [...TASK, 'source_busy', 'source_stop_failed'],
    location,
    handle: async (call) =>
      answerPower(call, 'stop', await placeSource(call.store, call.params.name, call.body.hostId), call.body.force),
  }),
  route('prepareSource', 'post', `${ONE}/prepare`, {
    scope: 'operator',
    summary: 'Make a running source one that can be looked at',
    description:
      'Changes the source: a program, a user, and settings of its sshd, listed in `changes`; docs/sources.md has them all. ' +
      'When any of it fails, all of it is taken back. Preparing again brings the source up to date.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceTask },
    out: { 200: json('It can be looked at, which was tried', accessAnswer), 202: accessPending },
    problems: [SOURCE_TASK, 'prepare_failed', 'guest_unreachable', 'host_key_mismatch', 'ssh_timeout'],
    location,
    handle: async (call) =>
      answerAccess(call, 'prepare', await placeSource(call.store, call.params.name, call.body.hostId)),
  }),
  route('unprepareSource', 'post', `${ONE}/unprepare`, {
    scope: 'operator',
    summary: 'Take back all that preparing changed',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceTask },
    out: { 200: json('Nothing of it is left', accessAnswer), 202: accessPending },
    problems: [SOURCE_TASK, 'source_not_prepared', 'prepare_failed', 'guest_unreachable'],
    location,
    handle: async (call) =>
      answerAccess(call, 'unprepare', await changedSource(call.store, call.params.name, call.body.hostId)),
  }),
];

type PowerView = z.infer<typeof sourcePower>;
type AccessView = z.infer<typeof accessAnswer>;

const POWER_STATES = {
  start: { done: 'running', pending: 'starting' },
  stop: { done: 'shut_off', pending: 'stopping' },
} as const;

/** @throws MayflyError source_busy, too_many_requests */
async function answerPower(
  responder: Responder<PowerView>,
  task: SourcePowerTask,
  source: PlacedSource,
  force = false,
): Promise<Response> {
  const { c, deps } = responder;
  const { sagas } = deps;
  const { id: sourceId, hostId, installationId, name } = source;
  const input = { task, sourceId, hostId, installationId, name, force, actor: actorOf(c) };
  return answerOnce(responder, { idFrom: () => sourceId }, async () => {
    await sagas.sources.beginPower(input);
    let end: SourcePowerOutcome | undefined;
    await waitAsPreferred(c, async (signal) => {
      end = await sagas.sources.powerEnded(source, signal);
    });
    return keep(powerOutcome(task, source, end), end !== undefined && isClientConnected(c));
  });
}

function powerOutcome(
  task: SourcePowerTask,
  { hostId, name }: PlacedSource,
  end: SourcePowerOutcome | undefined,
): Outcome<PowerView> {
  const { done, pending } = POWER_STATES[task];
  const view = { name, hostId, state: pending, guestAnswers: null };
  if (!end) return reply(202, view);
  if (end.failure) return fail(new MayflyError(end.failure.code, end.failure.message), {}, view);
  return reply(200, { ...view, state: done, guestAnswers: end.guestAnswers });
}

async function answerAccess(
  responder: Responder<AccessView>,
  task: SourceTask,
  source: PlacedSource,
): Promise<Response> {
  const { c, deps } = responder;
  const { store, sagas } = deps;
  const { id: sourceId, hostId, installationId, name } = source;
  const input = { task, sourceId, hostId, installationId, name, actor: actorOf(c) };
  return answerOnce(responder, { idFrom: () => sourceId }, async () => {
    await sagas.sources.beginTask(input);
    const isOver = await waitAsPreferred(c, (signal) => sagas.sources.taskEnded(source, signal));
    const record = (await store.sources.get(sourceId)) ?? unpreparedSource(source);
    const outcome = isOver ? accessOutcome(task, record) : reply(202, record);
    return keep(outcome, isOver && isClientConnected(c));
  });
}

/** Error codes that the caller can act on; every other one becomes `prepare_failed`. */
const OWN_CODES: ReadonlySet<ErrorCode> = new Set(['source_not_running', 'source_not_found', 'host_unavailable']);

function accessOutcome(task: SourceTask, record: SourceAccess): Outcome<AccessView> {
  const { failure, state } = record;
  const isDone = task === 'unprepare' || (state === 'prepared' && failure === null);
  // Otherwise an unprepare has replaced it.
  if (isDone || failure === null) return reply(isDone ? 200 : 202, record);
  const code = isErrorCode(failure.code) && OWN_CODES.has(failure.code) ? failure.code : 'prepare_failed';
  return fail(new MayflyError(code, `${failure.step}: ${failure.message}`), {}, record);
}

/** Returns a placeholder for the record of a workflow that has not written yet. */
function unpreparedSource(source: PlacedSource): SourceAccess {
  const nothing = { sshd: null, gateVersion: null, changes: [], preparedAt: null, preparedBy: null };
  const at = { failure: null, waitingFor: null, updatedAt: new Date().toISOString() };
  return { ...source, state: 'unprepared', ...nothing, ...at };
}
