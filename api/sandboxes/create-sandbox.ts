import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { createSandbox, type Fork, forkIds, forkSandboxes } from '../../services/sandboxes/create-sandbox.ts';
import { type Env, preferredWait, type RequestDeps } from '../http/context.ts';
import { problemOf } from '../http/problem.ts';
import { fail, type Outcome, type Responder, reply } from '../http/route.ts';
import { answerOnce, isClientConnected, keep } from '../idempotency/answer-once.ts';
import {
  type createSandbox as createSchema,
  type forksAnswer,
  type SandboxView,
  sandboxView,
} from '../resources/sandbox-schemas.ts';

/** Creates a sandbox, once for each Idempotency-Key, and answers when it runs or the preferred wait ends. */
export function answerCreate(
  responder: Responder<SandboxView>,
  request: z.output<typeof createSchema>,
): Promise<Response> {
  const { c, deps } = responder;
  const subject = { path: '/v1/sandboxes', member: 'sandboxId' } as const;
  const operation = { idFrom: sandboxIdFrom, subject, again: (id: string) => readAgain(deps, id) };
  return answerOnce(responder, operation, async (call) => {
    const record = await createSandbox(deps, call, request, preferredWait(c));
    return outcomeOf(record);
  });
}

function outcomeOf(record: SandboxRecord): Outcome<SandboxView> {
  const failure = failureOf(record);
  if (failure) return fail(failure, { sandboxId: record.id }, sandboxView(record));
  return reply(record.state === 'running' ? 201 : 202, sandboxView(record));
}

/** Answers a retry; with 200 for a sandbox that has run, and does not run now. */
async function readAgain({ store }: RequestDeps, id: string): Promise<Outcome<SandboxView> | null> {
  const record = await store.sandboxes.get(id);
  if (!record) return null;
  return record.state === 'running' || record.runningAt === null ? outcomeOf(record) : reply(200, sandboxView(record));
}

/** Returns why a sandbox never ran; null while undecided. */
function failureOf(record: SandboxRecord): MayflyError | null {
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

type ForksView = z.infer<typeof forksAnswer>;
type Request = z.output<typeof createSchema>;

/** Creates forks of a snapshot, once for each Idempotency-Key, in the order of the response. */
export function answerForks(responder: Responder<ForksView>, request: Request): Promise<Response> {
  const { c, deps } = responder;
  const again = (subjectId: string) => forksAgain(c, deps, forkIds(subjectId, request));
  return answerOnce(responder, { idFrom: sandboxIdFrom, again }, async (call) => {
    const forks = await forkSandboxes(deps, call, request, preferredWait(c));
    const outcome = reply(statusOf(forks), { items: forks.map((fork) => itemOf(c, fork)) });
    // A retry with the same key starts the refused ones.
    return keep(outcome, forks.every(({ record }) => record) && isClientConnected(c));
  });
}

/** Answers a retry; with 200 when some have run, and do not run now. Null when a record is missing. */
async function forksAgain(c: Context<Env>, { store }: RequestDeps, ids: string[]): Promise<Outcome<ForksView> | null> {
  const records = (await Promise.all(ids.map((id) => store.sandboxes.get(id)))).filter((record) => record !== null);
  if (records.length < ids.length) return null;
  const forks = records.map((record) => ({ id: record.id, record }));
  const hasRun = ({ runningAt }: SandboxRecord) => runningAt !== null;
  const items = forks.map((fork) => (hasRun(fork.record) ? { sandbox: sandboxView(fork.record) } : itemOf(c, fork)));
  const isPast = records.some((record) => hasRun(record) && record.state !== 'running');
  return reply(isPast ? 200 : statusOf(forks), { items });
}

function itemOf(c: Context<Env>, fork: Fork): ForksView['items'][number] {
  const { id: sandboxId, record } = fork;
  if (!record) return { problem: problemOf(c, fork.refusal, { sandboxId }) };
  const failure = failureOf(record);
  return failure ? { problem: problemOf(c, failure, { sandboxId }) } : { sandbox: sandboxView(record) };
}

/** Returns 201 when all run, 202 while some are being created, 207 when some have failed. */
function statusOf(forks: readonly Fork[]): 201 | 202 | 207 {
  const records = forks.flatMap(({ record }) => (record ? [record] : []));
  if (records.length === forks.length && records.every(({ state }) => state === 'running')) return 201;
  const isOpen = (record: SandboxRecord) => record.state !== 'running' && failureOf(record) === null;
  return records.some(isOpen) ? 202 : 207;
}
