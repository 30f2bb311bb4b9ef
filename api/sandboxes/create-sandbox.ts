import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { type Attempt, freedWhenRefused } from '../../services/idempotent-attempt.ts';
import { admit, uncountedWhenRefused } from '../../services/sandboxes/admission.ts';
import { beginSaga, recorded } from '../../services/sandboxes/begin-sandbox.ts';
import { claimMember } from '../../services/sandboxes/claim-member.ts';
import { type Origin, placeableOrigin, proposedTo } from '../../services/sandboxes/placement.ts';
import type { MemberWish } from '../../store/pools/candidates.ts';
import { askPermission } from '../approvals/permission.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard, SANDBOX } from '../http/idempotency.ts';
import { preferenceOf } from '../http/prefer.ts';
import { problemResponse } from '../http/problem.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import { sandboxView } from '../resources/sandbox-view.ts';
import { createWish } from './create-wish.ts';
import { refuseTakenName, tellingWhoHasIt } from './sandbox-names.ts';
import { type Request, specOf } from './sandbox-spec.ts';

/** POST /v1/sandboxes: starts the saga once, however often it is asked with the same key, and waits for it a while. */
export async function answerCreate(c: Context<Env>, deps: RequestDeps, request: Request): Promise<Response> {
  const { store, sagas } = deps;
  const again = async (id: string) => {
    const record = await store.sandboxes.get(id);
    return record && answerLater(c, record);
  };
  const asked = { idFrom: sandboxIdFrom, body: request, subject: SANDBOX, again };
  return answerOnce(c, asked, async (attempt) => {
    const waiting = await askPermission(c, deps, attempt, createWish(c, deps, attempt, request, [attempt.subjectId]));
    if (waiting) return waiting;
    const preference = preferenceOf(c.req.header('prefer'));
    const record = await tellingWhoHasIt(c, deps, attempt, request.name, async () => {
      const claimed = await claimMember(deps, attempt, () => claimOf(c, attempt, request));
      if (claimed.record) return claimed.record;
      const input = await inputOfNew(c, deps, attempt, request, claimed.isMissed);
      return uncountedWhenRefused(deps, attempt, attempt.subjectId, async () => {
        const begun = input && (await beginSaga(deps, input, preference));
        await waitAsPreferred(c, (signal) => sagas.sandboxes.settled(attempt.subjectId, signal));
        return begun && preference.seconds === 0 ? begun : recorded(deps, attempt.subjectId, input, begun);
      });
    });
    return { response: answerFor(c, record), isKept: isHeard(c) };
  });
}

/** As a pool's member is asked for; null: it is not one that is wanted. */
function claimOf(c: Context<Env>, { subjectId: requestId }: Attempt, request: Request): MemberWish | null {
  const { name, source, snapshotId, captureId, cpus, memoryMib, boot = 'auto' } = request;
  const isOther = source === undefined || snapshotId !== undefined || captureId !== undefined;
  if (isOther || boot !== 'auto') return null;
  const network = { egress: request.network?.egress ?? 'none' };
  return {
    requestId,
    ...(name !== undefined && { name }),
    spec: specOf(request, { source, snapshotId: null, captureId: null, network }),
    size: { cpus, memoryMib },
    actor: actorOf(c, request.agentId),
    requestedAt: new Date().toISOString(),
  };
}

/**
 * A claim without a record means that the first request died, or is still, between the two: this one starts the saga
 * under the same id, and Temporal joins the two.
 * @returns null when it has a record already
 */
async function inputOfNew(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: Attempt,
  request: Request,
  isMissed: boolean,
): Promise<SandboxInput | null> {
  const { subjectId: id, isFresh } = attempt;
  if (!isFresh && (await deps.store.sandboxes.get(id))) return null;
  if (request.name !== undefined) await refuseTakenName(deps, id, request.name);
  const origin = await freedWhenRefused(deps.store, attempt, () => admittedOrigin(deps, attempt, [id], request));
  return { ...inputOf(c, id, request, origin), ...(isMissed && { missed: 'pool_empty' }) };
}

/**
 * What sandboxes are made from, which the quotas of the project let begin.
 * @throws MayflyError what {@link placeableOrigin} and {@link admit} refuse with
 */
export async function admittedOrigin(
  deps: RequestDeps,
  attempt: Attempt,
  sandboxIds: string[],
  request: Request,
): Promise<Origin> {
  const origin = await placeableOrigin(deps.store, request);
  await admit(deps, sandboxIds, origin.size, attempt);
  return origin;
}

/** What a saga is begun with, now. */
export function inputOf(c: Context<Env>, id: string, request: Request, origin: Origin): SandboxInput {
  return {
    id,
    ...(request.name !== undefined && { name: request.name }),
    spec: specOf(request, origin),
    size: origin.size,
    createdBy: actorOf(c, request.agentId),
    requestedAt: new Date().toISOString(),
    begin: 'create',
    ...proposedTo(c.get('apiKey'), origin),
  };
}

function answerFor(c: Context<Env>, record: SandboxRecord): Response {
  c.header('Location', `/v1/sandboxes/${record.id}`);
  if (record.state === 'running') return c.json(sandboxView(record), 201);
  const failure = failureOf(record);
  return failure ? problemResponse(c, failure, { sandboxId: record.id }) : c.json(sandboxView(record), 202);
}

/** Answers of one that was made before; one that has been made, and does not run now, with 200. */
function answerLater(c: Context<Env>, record: SandboxRecord): Response {
  if (record.state === 'running' || record.runningAt === null) return answerFor(c, record);
  c.header('Location', `/v1/sandboxes/${record.id}`);
  return c.json(sandboxView(record), 200);
}

/** Why there will be no running sandbox; null while that is open. */
export function failureOf(record: SandboxRecord): MayflyError | null {
  const { state, failure, stopReason } = record;
  if (state === 'failed' && failure) return new MayflyError(failure.code, `${failure.step}: ${failure.message}`);
  if (state === 'failed' || state === 'destroyed') {
    return new MayflyError(
      'sandbox_ended',
      `The sandbox ended before it was ready (${stopReason ?? 'no reason recorded'}).`,
    );
  }
  return null;
}
