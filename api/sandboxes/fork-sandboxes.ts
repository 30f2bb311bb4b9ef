import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { askPermission } from '../approvals/permission.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Attempt, answerOnce, freedWhenRefused, furtherId, isHeard } from '../http/idempotency.ts';
import { type Preference, preferenceOf } from '../http/prefer.ts';
import { problemOf } from '../http/problem.ts';
import type { IdempotencyHeaders } from '../http/schemas.ts';
import { waitWithin } from '../http/waiting.ts';
import { uncountedWhenRefused } from '../resources/admission.ts';
import type { forksAnswer } from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';
import { beginSaga, recorded } from './begin-sandbox.ts';
import { admittedOrigin, failureOf, inputOf } from './create-sandbox.ts';
import { createWish } from './create-wish.ts';
import type { Request } from './sandbox-spec.ts';

type Item = z.infer<typeof forksAnswer>['items'][number];

/**
 * Sagas that are handed to Temporal at once; each waits until its record is in the store. Ten took 4 s on two busy cores
 * that ran the sagas too, and one call may take ten.
 */
const STARTED_AT_ONCE = 5;

/** POST /v1/sandboxes with a count: one sandbox for each place in the list, however often it is asked with the same key. */
export async function answerForks(
  c: Context<Env>,
  deps: RequestDeps,
  request: Request,
  headers: IdempotencyHeaders,
): Promise<Response> {
  const { store, sagas } = deps;
  const asked = { idFrom: sandboxIdFrom, key: headers['idempotency-key'], body: request };
  return answerOnce(c, store, asked, async (attempt) => {
    const ids = Array.from({ length: request.count ?? 1 }, (_, n) =>
      furtherId(sandboxIdFrom, attempt.subjectId, `fork/${n}`),
    );
    const waiting = await askPermission(c, deps, attempt, createWish(c, deps, attempt, request, headers, ids));
    if (waiting) return waiting;
    const preference = preferenceOf(headers.prefer);
    const { refused, inputs } = await startAll(c, deps, attempt, ids, request, preference);
    const started = ids.filter((id) => !refused.has(id));
    await waitWithin(c, deps, preference.seconds, async (signal) => {
      await Promise.all(started.map((id) => sagas.settled(id, signal)));
    });
    const records = new Map<string, SandboxRecord>();
    for (const id of started) records.set(id, await recorded(deps, id, inputs.get(id) ?? null));
    if (preference.applied) c.header('Preference-Applied', preference.applied);
    const response = c.json({ items: ids.map((id) => itemOf(c, id, refused, records)) }, statusOf(ids, records));
    // What Temporal did not take is begun by the next request with the same key.
    return { response, isKept: refused.size === 0 && isHeard(c) };
  });
}

interface Started {
  refused: Map<string, MayflyError>;
  inputs: Map<string, SandboxInput>;
}

/**
 * Starts those that have no record yet: all, unless an earlier request with the same key has begun.
 * @returns why some were not started, and what the others were started with now
 * @throws MayflyError what {@link admittedOrigin} refuses with, or why none was started
 */
async function startAll(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: Attempt,
  ids: string[],
  request: Request,
  preference: Preference,
): Promise<Started> {
  const { store } = deps;
  const started: Started = { refused: new Map(), inputs: new Map() };
  const { refused, inputs } = started;
  const present = attempt.isFresh ? [] : await Promise.all(ids.map((id) => store.sandboxes.get(id)));
  const missing = ids.filter((_, n) => !present[n]);
  if (missing.length === 0) return started;
  const origin = await freedWhenRefused(store, attempt, () => admittedOrigin(deps, attempt, missing, request));
  const begin = async (id: string) => {
    try {
      const input = inputOf(c, id, request, origin);
      await uncountedWhenRefused(deps, attempt, id, () => beginSaga(deps, input, preference));
      inputs.set(id, input);
    } catch (error) {
      if (!(error instanceof MayflyError)) throw error;
      refused.set(id, error);
    }
  };
  for (let n = 0; n < missing.length; n += STARTED_AT_ONCE) {
    await Promise.all(missing.slice(n, n + STARTED_AT_ONCE).map(begin));
  }
  const [first] = refused.values();
  if (first && refused.size === ids.length) throw first;
  return started;
}

function itemOf(
  c: Context<Env>,
  id: string,
  refused: Map<string, MayflyError>,
  records: Map<string, SandboxRecord>,
): Item {
  const record = records.get(id);
  const error = record ? failureOf(record) : refused.get(id);
  if (error) return { problem: problemOf(c, error, { sandboxId: id }) };
  if (record) return { sandbox: sandboxView(record) };
  throw new MayflyError('internal', `Nothing is known of ${id}, which was asked for.`);
}

/** 201: all run. 202: some are still being made. 207: all that can be made has been made, and some were not. */
function statusOf(ids: string[], records: Map<string, SandboxRecord>): 201 | 202 | 207 {
  const states = ids.map((id) => records.get(id));
  if (states.every((record) => record?.state === 'running')) return 201;
  const isOpen = (record: SandboxRecord) => record.state !== 'running' && failureOf(record) === null;
  return [...records.values()].some(isOpen) ? 202 : 207;
}
