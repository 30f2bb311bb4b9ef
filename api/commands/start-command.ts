import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { commandIdFrom } from '../../model/ids.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { startCommand } from '../../services/commands/start-command.ts';
import { releaseCall } from '../../services/idempotent-call.ts';
import type { RequestDeps } from '../http/context.ts';
import { fail, type Outcome, type Responder, reply } from '../http/route.ts';
import { preferredWait } from '../http/waiting.ts';
import { answerOnce, isClientConnected, keep } from '../idempotency/answer-once.ts';
import { sandboxOfPath } from '../resources/entered-sandbox.ts';
import type { startCommand as startSchema } from './command-schemas.ts';
import { type CommandView, commandViewWithOutput } from './command-view.ts';

/** Runs a command, once for each Idempotency-Key, and answers with it when it has ended or the preferred wait is over. */
export async function answerStart(
  responder: Responder<CommandView>,
  sandboxId: string,
  request: z.output<typeof startSchema>,
): Promise<Response> {
  const { c, deps } = responder;
  const { store } = deps;
  const again = async (id: string) => {
    const record = await store.commands.get(id);
    return record && outcomeOf(deps, record);
  };
  const subject = { path: `/v1/sandboxes/${sandboxId}/commands`, member: 'commandId' } as const;
  return answerOnce(responder, { idFrom: commandIdFrom, again, subject }, async (call) => {
    const record = await startCommand(deps, call, await sandboxOfPath(c, sandboxId), request, preferredWait(c));
    const outcome = await outcomeOf(deps, record, !call.isFresh && record.state === 'ended');
    // A command that never started frees its key: the same request may be retried later.
    if (record.outcome === 'not-started') await releaseCall(store, call);
    // An answer that says how it ended is given again from the record.
    return keep(outcome, record.state !== 'ended' && isClientConnected(c));
  });
}

async function outcomeOf(
  { store }: RequestDeps,
  record: CommandRecord,
  isReplayed = false,
): Promise<Outcome<CommandView>> {
  if (record.state !== 'ended') return reply(202, record);
  const { failure } = record;
  if (!failure) return reply(201, await commandViewWithOutput(store, record), isReplayed);
  const error = new MayflyError(failure.code, failure.message, { retryAfterSeconds: 1 });
  return fail(error, { sandboxId: record.sandboxId, commandId: record.id }, record);
}
