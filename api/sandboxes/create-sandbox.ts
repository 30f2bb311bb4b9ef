import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { createSandbox } from '../../services/sandboxes/create-sandbox.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { problemResponse } from '../http/problem.ts';
import { preferredWait } from '../http/waiting.ts';
import { answerOnce, type Operation } from '../idempotency/answer-once.ts';
import type { createSandbox as createSchema } from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';

/** Creates a sandbox, once for each Idempotency-Key, and answers with it when it runs or the preferred wait is over. */
export function answerCreate(
  c: Context<Env>,
  deps: RequestDeps,
  request: z.output<typeof createSchema>,
): Promise<Response> {
  const subject = { path: '/v1/sandboxes', member: 'sandboxId' } as const;
  const operation: Operation = { idFrom: sandboxIdFrom, subject, again: (id) => answerRepeated(c, deps, id) };
  return answerOnce(c, operation, async (call) => {
    const record = await createSandbox(deps, call, request, preferredWait(c));
    return answerRecord(c, record);
  });
}

function answerRecord(c: Context<Env>, record: SandboxRecord): Response {
  c.header('Location', `/v1/sandboxes/${record.id}`);
  if (record.state === 'running') return c.json(sandboxView(record), 201);
  const failure = failureOf(record);
  return failure ? problemResponse(c, failure, { sandboxId: record.id }) : c.json(sandboxView(record), 202);
}

/** Answers a repetition; one that has run, and does not run now, with 200. */
async function answerRepeated(c: Context<Env>, { store }: RequestDeps, id: string): Promise<Response | null> {
  const record = await store.sandboxes.get(id);
  if (!record) return null;
  if (record.state === 'running' || record.runningAt === null) return answerRecord(c, record);
  c.header('Location', `/v1/sandboxes/${id}`);
  return c.json(sandboxView(record), 200);
}

/** Returns why a sandbox never ran; null while that is open. */
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
