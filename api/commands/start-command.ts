import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { commandIdFrom } from '../../model/ids.ts';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import { textOrBase64 } from '../../services/commands/command-follower.ts';
import { startCommand } from '../../services/commands/start-command.ts';
import { releaseCall } from '../../services/idempotent-call.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { preferredWait, type RequestDeps } from '../http/context.ts';
import { fail, type Outcome, type Responder, reply } from '../http/route.ts';
import { GUEST, json, POLICY_CODES, viewOf } from '../http/schemas.ts';
import { answerOnce, isClientConnected, keep } from '../idempotency/answer-once.ts';
import { sandboxOfPath } from '../resources/entered-sandbox.ts';
import { commandAnswer, type startCommand as startSchema } from './command-schemas.ts';

/** Runs a command, once for each Idempotency-Key, and answers at its end or that of the preferred wait. */
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
    // A command that never started releases its key, for a later retry.
    if (record.outcome === 'not-started') await releaseCall(store, call);
    // A final outcome is answered from the record again.
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

/** Returns the responses of a request that starts a command. */
export function startAnswers(descriptions: { ended: string; begun: string }) {
  return {
    out: {
      201: json(descriptions.ended, commandAnswer),
      202: json(descriptions.begun, z.union([commandAnswer, approvalAnswer])),
    },
    location: (command: z.input<typeof commandAnswer> | z.input<typeof approvalAnswer>) =>
      'sandboxId' in command ? `/v1/sandboxes/${command.sandboxId}/commands/${command.id}` : undefined,
    problems: [
      POLICY_CODES,
      GUEST,
      'program_not_found',
      'program_not_executable',
      'guest_disk_full',
      'command_not_found',
    ],
  } as const;
}

export type CommandView = z.infer<typeof commandAnswer>;

export const commandView = viewOf(commandAnswer);

/** Returns a command with the start of its output, at most one chunk per stream. */
async function commandViewWithOutput(store: ProjectStore, record: CommandRecord): Promise<CommandView> {
  const [stdout, stderr] = await Promise.all([startOf(store, record, 'stdout'), startOf(store, record, 'stderr')]);
  return { ...commandView(record), output: { stdout, stderr } };
}

async function startOf(store: ProjectStore, record: CommandRecord, stream: OutputStream) {
  const { bytes: written, kept } = record[stream];
  const bytes = kept > 0 ? await store.output.read(record.id, stream, 0, OUTPUT_CHUNK_BYTES) : new Uint8Array();
  const truncated = written > bytes.length;
  return { ...textOrBase64(bytes, { isCut: truncated }), truncated };
}
