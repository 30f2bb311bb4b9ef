import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type CaptureInput, type CaptureRecord, newCapture } from '../model/capture.ts';
import { MayflyError } from '../model/errors.ts';
import { captureIdFrom, sourceIdOf } from '../model/ids.ts';
import { captureView, existingCapture } from './capture-view.ts';
import type { AppDeps, Env } from './context.ts';
import { beginAttempt, freedWhenRefused, keepAnswer, repeatAnswer } from './idempotency.ts';
import { patienceOf } from './prefer.ts';
import { problemResponse } from './problem.ts';
import { placeSource } from './source-host.ts';
import type { sourceTask } from './source-schemas.ts';
import { waitWithin } from './waiting.ts';

type Request = z.output<typeof sourceTask>;

/**
 * POST …/captures: captures once, however often it is asked with the same key, and waits for it a while.
 * @throws MayflyError source_not_found, no_host, source_busy
 */
export async function answerCapture(
  c: Context<Env>,
  deps: AppDeps,
  source: string,
  request: Request,
  headers: { 'idempotency-key'?: string | undefined; prefer?: string | undefined },
): Promise<Response> {
  const { store, sagas } = deps;
  const { id: apiKeyId } = c.get('apiKey');
  const { method, path } = c.req;
  const asked = { apiKeyId, key: headers['idempotency-key'], method, path, body: request };
  const attempt = await beginAttempt(store, captureIdFrom, asked);
  if (attempt.answer) return repeatAnswer(c, attempt.answer);

  const captureId = attempt.subjectId;
  let record = attempt.isFresh ? null : await store.captures.get(captureId);
  if (!record) {
    const input = await freedWhenRefused(store, attempt, async () => {
      const { id: sourceId, hostId } = await placeSource(store, source, request.hostId);
      const actor = { apiKeyId, agentId: null };
      const at = new Date().toISOString();
      const wish: CaptureInput = { task: 'create', captureId, sourceId, hostId, source, actor, at };
      await sagas.capture(wish);
      return wish;
    });
    record = newCapture(input);
  }
  record = await settled(c, deps, record, headers.prefer);
  const response = answerFor(c, record);
  // Who has left got no answer, so the same request may still wait for the end.
  if (!c.req.raw.signal.aborted) await keepAnswer(store, attempt.claim, response);
  return response;
}

/**
 * DELETE /v1/captures/{id}
 * @throws MayflyError capture_not_found, capture_in_use, source_busy
 */
export async function answerDeletion(
  c: Context<Env>,
  deps: AppDeps,
  captureId: string,
  prefer: string | undefined,
): Promise<Response> {
  const before = await existingCapture(deps, captureId);
  if (isGone(before)) return c.json(captureView(before), 200);
  const { hostId, source } = before;
  const actor = { apiKeyId: c.get('apiKey').id, agentId: null };
  const at = new Date().toISOString();
  const sourceId = sourceIdOf(hostId, source);
  await deps.sagas.capture({ task: 'delete', captureId, sourceId, hostId, source, actor, at });
  let isOver = false;
  const record = await settled(c, deps, before, prefer, () => {
    isOver = true;
  });
  if (isGone(record)) return c.json(captureView(record), 200);
  if (isOver && record.state === 'ready') {
    throw new MayflyError('capture_in_use', record.waitingFor ?? `${captureId} is needed.`);
  }
  c.header('Location', `/v1/captures/${captureId}`);
  return c.json(captureView(record), 202);
}

/** The record, when nothing is done to its source's captures any more, or when the caller's patience is over. */
async function settled(
  c: Context<Env>,
  deps: AppDeps,
  record: CaptureRecord,
  prefer: string | undefined,
  onOver: () => void = () => {},
): Promise<CaptureRecord> {
  const patience = patienceOf(prefer);
  await waitWithin(c, deps, patience.seconds, async (signal) => {
    await deps.sagas.captureEnded(record, signal);
    onOver();
  });
  if (patience.applied) c.header('Preference-Applied', patience.applied);
  return (await deps.store.captures.get(record.id)) ?? record;
}

function answerFor(c: Context<Env>, record: CaptureRecord): Response {
  const { id, state, failure } = record;
  c.header('Location', `/v1/captures/${id}`);
  if (state !== 'failed') return c.json(captureView(record), state === 'creating' ? 202 : 201);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('capture_failed', 'No reason was recorded.');
  return problemResponse(c, error, { captureId: id });
}

/** What failed has left nothing. */
function isGone({ state }: CaptureRecord): boolean {
  return state === 'deleted' || state === 'failed';
}
