import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { captureIdFrom, sourceIdOf } from '../../model/ids.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import { newCapture } from '../../model/snapshots/capture-saga.ts';
import { type Attempt, freedWhenRefused } from '../../services/idempotent-attempt.ts';
import { requireCapture } from '../../services/require.ts';
import { placeSource } from '../../services/sources/source-host.ts';
import { askPermission } from '../approvals/permission.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import { captureView } from '../resources/capture-schemas.ts';
import { answerDeletion } from '../resources/deletion.ts';
import type { takeCapture } from './source-schemas.ts';

type Request = z.output<typeof takeCapture>;

/**
 * POST …/captures: captures once, however often it is asked with the same key, and waits for it a while.
 * @throws MayflyError source_not_found, no_host, source_busy
 */
export async function answerCapture(
  c: Context<Env>,
  deps: RequestDeps,
  source: string,
  request: Request,
): Promise<Response> {
  const asked = {
    idFrom: captureIdFrom,

    body: request,
    subject: { path: '/v1/captures', member: 'captureId' as const },
    again: async (id: string) => {
      const record = await deps.store.captures.get(id);
      return record && answerFor(c, record);
    },
  };
  return answerOnce(c, asked, async (attempt) => {
    const waiting = await askPermission(c, deps, attempt, {
      action: 'capture.create',
      project: c.get('apiKey').project,
      isBegun: async () => (await deps.store.captures.get(attempt.subjectId)) !== null,
      resolve: async () => {
        const { id: sourceId, hostId } = await placeSource(deps.store, source, request.hostId);
        const { projects = null, allowedEgress = 'none' } = request;
        return { facts: { source: 'capture' }, request: { source, sourceId, hostId, projects, allowedEgress } };
      },
    });
    if (waiting) return waiting;
    const begun = await begin(deps, attempt, { source, request, actor: actorOf(c) });
    const record = await settled(c, deps, begun);
    return { response: answerFor(c, record), isKept: isHeard(c) };
  });
}

/** A claim with a record has been begun. */
async function begin(
  { store, sagas }: RequestDeps,
  attempt: Attempt,
  wish: { source: string; request: Request; actor: Actor },
): Promise<CaptureRecord> {
  const { subjectId: captureId, isFresh } = attempt;
  const present = isFresh ? null : await store.captures.get(captureId);
  if (present) return present;
  return freedWhenRefused(store, attempt, async () => {
    const { source, actor, request } = wish;
    const { projects = [actor.project], allowedEgress = 'none' } = request;
    const { id: sourceId, hostId, installationId } = await placeSource(store, source, request.hostId);
    const at = new Date().toISOString();
    const whose = { actor, projects, allowedEgress, at };
    const input = { task: 'create' as const, captureId, sourceId, hostId, installationId, source, ...whose };
    await sagas.captures.begin(input);
    return newCapture(input);
  });
}

/**
 * DELETE /v1/captures/{id}
 * @throws MayflyError capture_not_found, capture_in_use, source_busy
 */
export function deleteCapture(c: Context<Env>, deps: RequestDeps, captureId: string): Promise<Response> {
  const { sagas } = deps;
  return answerDeletion(c, {
    location: `/v1/captures/${captureId}`,
    read: () => requireCapture(deps, captureId),
    view: captureView,
    isGone,
    begin: async ({ hostId, installationId, source }, actor) => {
      const sourceId = sourceIdOf(hostId, source);
      const host = { hostId, installationId };
      await sagas.captures.begin({
        task: 'delete',
        captureId,
        sourceId,
        ...host,
        source,
        actor,
        at: new Date().toISOString(),
      });
    },
    ended: (record, signal) => sagas.captures.ended(record, signal),
    refusal: ({ state, waitingFor }) =>
      state === 'ready' ? new MayflyError('capture_in_use', waitingFor ?? `${captureId} is needed.`) : null,
  });
}

/** The record when nothing is done to its source's captures any more, or when the caller's preference ends. */
async function settled(c: Context<Env>, deps: RequestDeps, record: CaptureRecord): Promise<CaptureRecord> {
  await waitAsPreferred(c, (signal) => deps.sagas.captures.ended(record, signal));
  return (await deps.store.captures.get(record.id)) ?? record;
}

/** Of a later repetition 200: it was taken, and is there no more. */
const STATUS = { creating: 202, ready: 201, deleting: 200, deleted: 200 } as const;

function answerFor(c: Context<Env>, record: CaptureRecord): Response {
  const { id, state, failure } = record;
  c.header('Location', `/v1/captures/${id}`);
  if (state !== 'failed') return c.json(captureView(record), STATUS[state]);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('capture_failed', 'No reason was recorded.');
  return problemResponse(c, error, { captureId: id });
}

/** What failed has left nothing. */
function isGone({ state }: CaptureRecord): boolean {
  return state === 'deleted' || state === 'failed';
}
