import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { type Attempt, freedWhenRefused, furtherId } from '../../services/idempotent-attempt.ts';
import { uncountedWhenRefused } from '../../services/sandboxes/admission.ts';
import { beginSaga, recorded } from '../../services/sandboxes/begin-sandbox.ts';
import { askPermission } from '../approvals/permission.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { type Preference, preferenceOf } from '../http/prefer.ts';
import { problemOf } from '../http/problem.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import type { forksAnswer } from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';
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
export async function answerForks(c: Context<Env>, deps: RequestDeps, request: Request): Promise<Response> {
  const { sagas } = deps;
  const idsOf = (subjectId: string) =>
    Array.from({ length: request.count ?? 1 }, (_, n) => furtherId(sandboxIdFrom, subjectId, `fork/${n}`));
  const again = (subjectId: string) => answerLater(c, deps, idsOf(subjectId));
  const asked = { idFrom: sandboxIdFrom, body: request, again };
  return answerOnce(c, asked, async (attempt) => {
    const ids = idsOf(attempt.subjectId);
    const waiting = await askPermission(c, deps, attempt, createWish(c, deps, attempt, request, ids));
    if (waiting) return waiting;
    const preference = preferenceOf(c.req.header('prefer'));
    const { refused, inputs } = await startAll(c, deps, attempt, ids, request, preference);
    const started = ids.filter((id) => !refused.has(id));
    await waitAsPreferred(c, async (signal) => {
      await Promise.all(started.map((id) => sagas.sandboxes.settled(id, signal)));
    });
    const records = new Map<string, SandboxRecord>();
    for (const id of started) records.set(id, await recorded(deps, id, inputs.get(id) ?? null));
    const response = c.json({ items: ids.map((id) => itemOf(c, id, refused, records)) }, statusOf(ids, records));
    // What Temporal did not take is begun by the next request with the same key.
    return { response, isKept: refused.size === 0 && isHeard(c) };
  });
}

/** Answers of those that were made before; 200: some were made, and do not run now. Null: not all are known any more. */
async function answerLater(c: Context<Env>, { store }: RequestDeps, ids: string[]): Promise<Response | null> {
  const found = await Promise.all(ids.map((id) => store.sandboxes.get(id)));
  const records = new Map(found.flatMap((record) => (record ? [[record.id, record] as const] : [])));
  if (records.size < ids.length) return null;
  const hasRun = ({ runningAt }: SandboxRecord) => runningAt !== null;
  const items = [...records].map(([id, record]) =>
    hasRun(record) ? { sandbox: sandboxView(record) } : itemOf(c, id, new Map(), records),
  );
  const isPast = [...records.values()].some((record) => hasRun(record) && record.state !== 'running');
  return c.json({ items }, isPast ? 200 : statusOf(ids, records));
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
