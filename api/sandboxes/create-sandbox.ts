import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { createSandbox } from '../../services/sandboxes/create-sandbox.ts';
import type { RequestDeps } from '../http/context.ts';
import { fail, type Outcome, type Responder, reply } from '../http/route.ts';
import { preferredWait } from '../http/waiting.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import type { createSandbox as createSchema } from '../resources/sandbox-schemas.ts';
import { type SandboxView, sandboxView } from '../resources/sandbox-view.ts';

/** Creates a sandbox, once for each Idempotency-Key, and answers with it when it runs or the preferred wait is over. */
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

/** Answers a repetition; one that has run, and does not run now, with 200. */
async function readAgain({ store }: RequestDeps, id: string): Promise<Outcome<SandboxView> | null> {
  const record = await store.sandboxes.get(id);
  if (!record) return null;
  return record.state === 'running' || record.runningAt === null ? outcomeOf(record) : reply(200, sandboxView(record));
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
