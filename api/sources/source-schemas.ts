import { z } from '@hono/zod-openapi';
import { sourceInfo } from '../../model/host-record.ts';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId } from '../../model/project.ts';
import { hostId, intInRange, printable, snapshotId, sourceName } from '../../model/request-fields.ts';
import { bakedSource, isBakedSourceName } from '../../model/snapshots/baked-source.ts';
import { sourceAccess } from '../../model/snapshots/source-access.ts';
import { auditQuery } from '../http/schemas.ts';

const sourceHostId = hostId
  .optional()
  .openapi({ description: 'Needed only where several hosts have a source of that name' });

export const sourceParams = z.strictObject({
  name: sourceName.meta({ example: 'web-1' }),
});
export const sourceFileParams = sourceParams.extend({
  path: z.string().openapi({
    description: 'As for files of sandboxes: absolute, without the leading slash, percent-encoded.',
    example: 'etc/nginx/nginx.conf',
  }),
});
export const onHost = z.strictObject({ hostId: sourceHostId });
export const sourceTask = z.strictObject({ hostId: sourceHostId }).openapi('SourceTask');
export const takeCapture = z
  .strictObject({
    hostId: sourceHostId,
    projects: z
      .array(z.string().refine(isProjectId, 'is not a project id'))
      .min(1)
      .max(LIMITS.captureProjects)
      .optional()
      .openapi({
        description: 'Which may clone it, beside being allowed its source; the one of who takes it, unless said',
      }),
    allowedEgress: z
      .enum(['none', 'internet'])
      .optional()
      .openapi({ default: 'none', description: 'The most that its clones, and all that is forked of them, can reach' }),
  })
  .openapi('TakeCapture');
export const stopSource = z
  .strictObject({
    hostId: sourceHostId,
    force: z.boolean().optional().openapi({ description: 'Pull its power cord: what it has not written yet is lost' }),
  })
  .openapi('StopSource');
export const sourcePower = z
  .object({
    name: z.string(),
    hostId: z.string(),
    state: z.enum(['starting', 'running', 'stopping', 'shut_off']),
    guestAnswers: z.boolean().nullable().openapi({
      description: 'Whether its guest agent answers, which preparing needs; null: it has none, or does not run',
    }),
  })
  .openapi('SourcePower');
export const sourceAuditQuery = auditQuery.extend({ hostId: sourceHostId });

const bounds = LIMITS.sourceCommand;
export const sourceCommand = z
  .strictObject({
    command: printable(bounds.maxLength).openapi({ example: 'journalctl -u nginx --no-pager | tail -n 50' }),
    hostId: sourceHostId,
    agentId: printable(LIMITS.agentId.maxLength).optional(),
    timeoutSeconds: intInRange(bounds.timeoutSeconds, 'seconds').default(bounds.timeoutSeconds.default),
    maxOutputBytes: intInRange({ min: 0, max: bounds.maxOutputBytes }, 'bytes').default(bounds.maxOutputBytes),
  })
  .openapi('SourceCommand');

export const accessAnswer = sourceAccess.omit({ installationId: true }).openapi('SourceAccess');

export const bakeSource = z
  .strictObject({
    name: z
      .string()
      .refine(isBakedSourceName, {
        message: `must be 1 to ${LIMITS.bakedSourceName.maxLength} of A-Z a-z 0-9 . _ -, begin with a letter, and look like no id`,
      })
      .openapi({ example: 'debian-with-tools' }),
    fromSnapshot: snapshotId,
  })
  .openapi('BakeSource');

export const bakedAnswer = bakedSource.omit({ installationId: true, bakeId: true }).openapi('BakedSource');

export const sourceAnswer = sourceInfo.extend({ hosts: z.array(z.string()) }).openapi('Source');
export const sourceDetail = sourceAnswer
  .extend({
    access: z.array(accessAnswer).openapi({ description: 'Whether it can be looked at, by host' }),
    baked: z.array(bakedAnswer).openapi({ description: 'Where it was made of a snapshot, by host' }),
  })
  .openapi('SourceDetail');
