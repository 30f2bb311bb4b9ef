import { timingSafeEqual } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { exactValue } from '../../model/events/json/exact-json.ts';
import { memberText } from '../../model/events/json/member-text.ts';
import { waitpointIdOf } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { hashOf, partsOf } from '../../model/waitpoints/token.ts';
import { stateOf, type WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import { TokenBuckets } from '../../services/ingress/token-buckets.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import type { Completion } from '../../store/waitpoints/waitpoints.ts';
import type { AppDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { json } from '../http/schemas.ts';
import { completedAnswer, completeWaitpoint, tokenParams } from './waitpoint-schemas.ts';

const route = routeOf('runs');

/** All tokens that are of none share a bucket, or guesses would have one each. */
const NOWHERE = '';
/** Looked for in place of what cannot be there, so that it takes as long. */
const NOBODY = { waitpointId: waitpointIdOf('', ''), hash: hashOf('') };
const NO_HASH = Buffer.alloc(NOBODY.hash.length);

const { requestsPerSecond } = LIMITS.functions.waitpoints;

const completeWith = (buckets: TokenBuckets) =>
  route('completeWaitpoint', 'post', '/v1/waitpoints/{token}', {
    scope: 'open',
    summary: 'Send the data that the process of a run waits for; the token is the credential, and it takes no API key',
    description: 'The first data counts. The same again is answered as the first time, other data is refused.',
    limit: LIMITS.functions.waitpoints.bodyBytes,
    in: { params: tokenParams, body: completeWaitpoint },
    out: {
      200: json('The data is stored, now or before: the process is given it as long as it runs', completedAnswer),
    },
    problems: ['waitpoint_not_found', 'waitpoint_completed', 'waitpoint_expired', 'too_many_requests'],
    handle: async ({ c, wholeStore: store, params }) => {
      const found = await waitpointOf(store, params.token);
      if (!buckets.take(found?.waitpoint.id ?? NOWHERE)) {
        throw new MayflyError('too_many_requests', `More than ${requestsPerSecond} requests a second come here.`, {
          retryAfterSeconds: 1,
        });
      }
      if (!found) throw new MayflyError('waitpoint_not_found', 'There is no such waitpoint.');
      const { name, state, completedAt } = await completed(
        store,
        found.waitpoint,
        memberText(await c.req.text(), 'data') ?? '',
        found.token,
      );
      return { name, state, completedAt };
    },
  });

export const waitpointDoorRoutes: Route[] = [(app) => completeWith(new TokenBuckets(requestsPerSecond))(app)];

/** Null, after the same work: the token is of none, or its run is gone. */
async function waitpointOf(store: AppDeps['store'], token: string): Promise<Completion | null> {
  const parts = partsOf(token);
  const { waitpointId, hash } = parts ?? NOBODY;
  const found = await store.waitpoints.get(waitpointId);
  const presented = Buffer.from(hash);
  const place = (found?.tokens ?? []).reduce(
    (known, each, n) => (timingSafeEqual(Buffer.from(each), presented) ? n + 1 : known),
    timingSafeEqual(NO_HASH, presented) ? 1 : 0,
  );
  return parts && found && place > 0 ? { waitpoint: found, token: place } : null;
}

/** @param data JSON text @throws MayflyError waitpoint_completed, waitpoint_expired */
async function completed(
  store: AppDeps['store'],
  waitpoint: WaitpointRecord,
  data: string,
  token: number,
): Promise<WaitpointRecord> {
  const { id, runId, name, expiresAt } = waitpoint;
  const state = stateOf(waitpoint, Date.now());
  if (state === 'open') {
    const run = await store.runs.get(runId);
    if (!run || run.state === 'ended') throw new MayflyError('waitpoint_expired', `The run of ${name} has ended.`);
    const completedAt = new Date().toISOString();
    if (await store.waitpoints.complete(id, data, completedAt, token)) {
      await store.waitingRuns.wake(runId);
      return { ...waitpoint, state: 'completed', completedAt };
    }
  }
  const latest = state === 'expired' ? waitpoint : await store.waitpoints.get(id);
  if (latest?.state !== 'completed') {
    throw new MayflyError('waitpoint_expired', `The time of ${name} was over at ${expiresAt}.`);
  }
  if (latest.data !== null && canonicalJson(exactValue(latest.data)) === canonicalJson(exactValue(data))) {
    await store.waitingRuns.wake(runId); // who asks once more may not have come so far before
    return latest;
  }
  throw new MayflyError('waitpoint_completed', `Other data came for ${name} at ${latest.completedAt}.`);
}
