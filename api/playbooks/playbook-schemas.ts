import { z } from '@hono/zod-openapi';
import { egress } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { PLAYBOOK_STATES } from '../../model/playbook/playbook.ts';
import { idOf, snapshotId } from '../../model/request-fields.ts';
import { actor, failure, instant } from '../http/schemas.ts';

export const playbookParams = z.strictObject({
  id: idOf('playbook'),
});

export const writePlaybook = z
  .strictObject({
    from: snapshotId
      .optional()
      .openapi({ description: 'What changed since this snapshot; since it began, unless said' }),
    network: z
      .strictObject({ egress })
      .optional()
      .openapi({ description: 'What the fresh sandbox can reach; what the sandbox can, unless said' }),
  })
  .openapi('WritePlaybook');

export type WritePlaybookRequest = z.output<typeof writePlaybook>;

const left = z.array(z.object({ path: z.string(), why: z.string() }));

export const playbookAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    sandboxId: z.string(),
    state: z.enum(PLAYBOOK_STATES),
    base: z
      .object({ source: z.string(), snapshotId: snapshotId.nullable() })
      .openapi({ description: 'What the fresh sandbox is made of' }),
    checkerId: z.string().openapi({ description: 'The fresh sandbox: its command has what Ansible says, live' }),
    written: z
      .object({
        tasks: z.int(),
        paths: z.int().openapi({ description: 'That changed' }),
        noise: z.int().openapi({ description: 'That change in every machine by themselves' }),
        packages: z.array(
          z.object({
            name: z.string(),
            version: z.string().nullable(),
            change: z.enum(['installed', 'changed', 'removed', 'purged']),
          }),
        ),
        packageCount: z.int(),
        variables: z.array(z.object({ name: z.string(), of: z.string(), kind: z.enum(['password hash', 'file']) })),
        left: left.openapi({ description: `What it is known not to bring about, the first ${LIMITS.playbook.listed}` }),
        leftCount: z.int(),
      })
      .nullable(),
    check: z
      .object({
        ansible: z.string().openapi({ description: 'The version of ansible-core' }),
        runs: z.array(z.object({ changed: z.int(), failed: z.int(), message: z.string().nullable() })),
        broughtAbout: z.int(),
        paths: z.int(),
        left: left.openapi({ description: `What it has not brought about, the first ${LIMITS.playbook.listed}` }),
        leftCount: z.int(),
        beyond: z.array(z.string()).openapi({ description: 'What it has changed besides' }),
        beyondCount: z.int(),
      })
      .nullable(),
    unchecked: z.string().nullable().openapi({ description: 'Why it was not checked' }),
    failure: failure.nullable(),
    waitingFor: z.string().nullable(),
    createdBy: actor,
    createdAt: instant,
    endedAt: instant.nullable(),
    updatedAt: instant,
  })
  .openapi('Playbook');
