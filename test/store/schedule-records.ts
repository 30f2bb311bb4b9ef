import type { ScheduleRecord } from '../../model/schedules/schedule.ts';

const at = '2026-01-01T00:00:00.000Z';

export function scheduleRecord(changes: Partial<ScheduleRecord> = {}): ScheduleRecord {
  return {
    project: 'default',
    name: 'nightly',
    function: 'fn',
    cron: '30 2 * * *',
    every: null,
    timeZone: 'Europe/Berlin',
    overlap: 'skip',
    catchupWindowSeconds: 3_600,
    jitterSeconds: 0,
    startAt: null,
    endAt: null,
    pauseOnFailure: false,
    dst: { gap: 'skip', repeat: 'first' },
    event: { type: 'mayfly.schedule.fired', subject: null },
    version: 1,
    past: [],
    pausedAt: null,
    pauseReason: null,
    pauses: [],
    handledUntil: at,
    wakeAt: at,
    asks: {},
    queue: [],
    active: [],
    deletedAt: null,
    createdBy: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    createdAt: at,
    updatedAt: at,
    ...changes,
  };
}
