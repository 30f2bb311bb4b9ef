import { z } from '@hono/zod-openapi';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { ASKED_FOR, GUEST } from '../http/problem-answers.ts';
import { json } from '../http/schemas.ts';
import { commandAnswer } from './command-schemas.ts';

/** What is answered to a request that starts a command. */
export function startAnswers(said: { ended: string; begun: string }) {
  return {
    out: {
      201: json(said.ended, commandAnswer),
      202: json(said.begun, z.union([commandAnswer, approvalAnswer])),
    },
    location: (command: z.input<typeof commandAnswer> | z.input<typeof approvalAnswer>) =>
      'sandboxId' in command ? `/v1/sandboxes/${command.sandboxId}/commands/${command.id}` : undefined,
    problems: [ASKED_FOR, GUEST, 'program_not_found', 'program_not_executable', 'guest_disk_full', 'command_not_found'],
  } as const;
}
