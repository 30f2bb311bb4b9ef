import { z } from '@hono/zod-openapi';
import { functionName } from '../../model/functions/deploy-request.ts';
import { FUNCTION_NAME_PATTERN, isFunctionName } from '../../model/functions/function.ts';
import { LIMITS } from '../../model/limits.ts';
import { intInRange, printable } from '../../model/request-fields.ts';
import { CRON_LENGTH, parseCron } from '../../model/schedules/cron.ts';
import {
  dst,
  EVERY_PATTERN,
  overlap,
  parseInterval,
  scheduleRecord,
  scheduleSpec,
  scheduleTime,
} from '../../model/schedules/schedule.ts';
import { canonicalZone } from '../../model/schedules/zone.ts';
import { cursor, instant, intParam, limit } from '../http/schemas.ts';

const { schedules: limits } = LIMITS.functions;

const scheduleName = z.string().refine(isFunctionName, 'is not the name of a schedule').openapi({
  pattern: FUNCTION_NAME_PATTERN,
  example: 'nightly',
});
export const scheduleParams = z.strictObject({
  name: scheduleName,
});
export const schedulesQuery = z.strictObject({ function: functionName.optional() });
export const nextQuery = z.strictObject({
  count: intParam(limits.next.min, limits.next.max)
    .optional()
    .openapi({ description: `\`@default\` ${limits.next.default}` }),
});
export const timesQuery = z.strictObject({ limit, cursor, state: z.enum(['ran', 'missed']).optional() });

const time = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-03-29T02:30:00Z' })
  .refine((text) => Number.isFinite(Date.parse(text)), 'is no time')
  .transform((text) => new Date(text).toISOString())
  .openapi({ type: 'string', format: 'date-time' });

const cron = z
  .string()
  .max(CRON_LENGTH)
  .superRefine((text, context) => {
    const read = parseCron(text);
    if ('problem' in read) context.addIssue({ code: 'custom', message: read.problem });
  })
  .openapi({
    example: '30 2 * * MON-FRI',
    description: 'Minute, hour, day of month, month, day of week, as crontab(5) has them; or `@hourly` and its like',
  });

const every = z
  .string()
  .refine((text) => parseInterval(text) !== null, 'must be a number of s, m, h or d, such as 15m')
  .refine((text) => (parseInterval(text) ?? 1) <= 31_536_000, 'must be a year at most')
  .openapi({ pattern: EVERY_PATTERN, example: '15m', description: 'Counted from 1970 in UTC' });

const timeZone = z
  .string()
  .max(64)
  .refine((name) => canonicalZone(name) !== null, "is no time zone of IANA's, such as Europe/Berlin")
  .openapi({ example: 'Europe/Berlin' });

const dstRequest = z.strictObject({ gap: dst.shape.gap.default('skip'), repeat: dst.shape.repeat.default('first') });
const event = z.strictObject({
  type: printable(256).default('mayfly.schedule.fired'),
  subject: printable(256).optional(),
  data: z
    .unknown()
    .optional()
    .openapi({ description: `Any JSON, of ${limits.dataBytes} bytes at most` }),
});

export const setSchedule = z
  .strictObject({
    function: functionName,
    cron: cron.optional(),
    every: every.optional(),
    timeZone: timeZone.default('UTC'),
    overlap: overlap
      .default('skip')
      .openapi({ description: 'When the run of a time before has not ended, or something of it is left' }),
    catchupWindowSeconds: intInRange(limits.catchupWindowSeconds, 'seconds').default(
      limits.catchupWindowSeconds.default,
    ),
    jitterSeconds: intInRange(limits.jitterSeconds, 'seconds').default(0),
    startAt: time.optional(),
    endAt: time.optional(),
    pauseOnFailure: z.boolean().default(false),
    dst: dstRequest.prefault({}),
    event: event.prefault({}),
  })
  .refine((wish) => (wish.cron === undefined) !== (wish.every === undefined), {
    path: ['cron'],
    message: 'must be set, or `every`, and not both',
  })
  .openapi('SetSchedule');

export const trigger = z.strictObject({ overlap: overlap.optional() }).openapi('TriggerSchedule');
export const backfill = z
  .strictObject({ from: time, to: time, overlap: overlap.optional() })
  .refine(({ from, to }) => from <= to, { path: ['to'], message: 'is before `from`' })
  .openapi('BackfillSchedule');

export const scheduleAnswer = scheduleRecord
  .omit({
    version: true,
    past: true,
    pauses: true,
    handledUntil: true,
    wakeAt: true,
    asks: true,
    queue: true,
    active: true,
    deletedAt: true,
  })
  .extend({
    event: scheduleSpec.shape.event.extend({ data: z.unknown().optional() }),
    nextAt: instant.nullable().openapi({ description: 'Null: it is paused, or there is none any more' }),
  })
  .openapi('Schedule');

export const askAnswer = z.object({ id: z.string(), at: instant }).openapi('ScheduleAsk');

export const nextTimes = z
  .object({
    items: z.array(
      z.object({
        at: instant,
        localTime: z.string(),
        dst: z.enum(['gap', 'repeat']).nullable().openapi({
          description:
            '`gap`: the clocks leave it out, `at` is right after. `repeat`: they have it for the second time',
        }),
        isRun: z.boolean(),
      }),
    ),
  })
  .openapi('NextTimes');

export const timeAnswer = scheduleTime.omit({ project: true, schedule: true }).openapi('ScheduleTime');
