import { randomUUID } from 'node:crypto';
import {
  type Client,
  encodeScheduleOverlapPolicy,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import { namedTimes } from '../model/schedules/clock-changes.ts';
import type { Counted } from '../model/schedules/lost-times.ts';
import type { Overlap, ScheduleAsk, ScheduleRecord } from '../model/schedules/schedule.ts';
import {
  SCHEDULED_WORKFLOW,
  type ScheduledInput,
  scheduleIdOf,
  timeOfWorkflow,
  triggerTimeOf,
  workflowIdAt,
} from '../model/schedules/schedule-saga.ts';
import { temporalTimes } from './temporal/calendars.ts';

type ScheduleRef = Pick<ScheduleRecord, 'project' | 'name'>;

/** What Temporal has of a schedule. Times are ISO 8601. */
export interface KnownSchedule {
  revision: number;
  /** Changes of the clocks until then are known to it. */
  until: string;
  isPaused: boolean;
  createdAt: string;
  /** The first that it has not looked at; null: there is none. */
  nextAt: string | null;
  /** Times whose workflows run, or were begun lately. */
  begun: string[];
  /** Times in Temporal's buffer: they wait for the one that runs, or to be looked at. */
  waiting: number;
  isRunning: boolean;
  counted: Counted;
}

const OVERLAP: Readonly<Record<Overlap, ScheduleOverlapPolicy>> = {
  skip: ScheduleOverlapPolicy.SKIP,
  'buffer-one': ScheduleOverlapPolicy.BUFFER_ONE,
  'buffer-all': ScheduleOverlapPolicy.BUFFER_ALL,
  'cancel-other': ScheduleOverlapPolicy.CANCEL_OTHER,
  'allow-all': ScheduleOverlapPolicy.ALLOW_ALL,
};

/** The schedules in Temporal. Each of these may be done again, by any number of processes. */
export class ScheduleEngine {
  constructor(private readonly client: Client) {}

  /** Null: Temporal has none. */
  async describe(ref: ScheduleRef): Promise<KnownSchedule | null> {
    try {
      return knownOf(await this.client.schedule.getHandle(scheduleIdOf(ref)).describe());
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    }
  }

  /** @param passed times that are run at once: the first and the last; null: none. Milliseconds since 1970 */
  async create(record: ScheduleRecord, passed: { from: number; to: number } | null): Promise<void> {
    const overlap = OVERLAP[record.overlap];
    const backfill = passed ? [{ start: new Date(passed.from), end: new Date(passed.to), overlap }] : [];
    const wished = optionsOf(record);
    try {
      await this.client.schedule.create({
        scheduleId: scheduleIdOf(record),
        ...wished,
        state: { ...wished.state, backfill },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }

  async update(record: ScheduleRecord): Promise<void> {
    await this.client.schedule.getHandle(scheduleIdOf(record)).update(() => optionsOf(record));
  }

  async setPaused(record: ScheduleRecord): Promise<void> {
    const handle = this.client.schedule.getHandle(scheduleIdOf(record));
    await (record.pausedAt === null ? handle.unpause() : handle.pause());
  }

  async ask(ref: ScheduleRef, ask: ScheduleAsk): Promise<void> {
    const { from, to, overlap } = ask;
    if (ask.kind === 'backfill')
      return this.backfill(ref, { from: Date.parse(from ?? ''), to: Date.parse(to ?? ''), overlap });
    // the client's own trigger gives all of one second one workflow id
    await this.client.workflowService.patchSchedule({
      namespace: this.client.options.namespace,
      scheduleId: scheduleIdOf(ref),
      identity: this.client.options.identity,
      requestId: randomUUID(),
      patch: {
        triggerImmediately: {
          overlapPolicy: encodeScheduleOverlapPolicy(OVERLAP[overlap]) ?? null,
          scheduledTime: msToTs(triggerTimeOf(ask)),
        },
      },
    });
  }

  /** Has times run that have passed. @param range inclusive, milliseconds since 1970 */
  async backfill(ref: ScheduleRef, range: { from: number; to: number; overlap: Overlap }): Promise<void> {
    const [start, end] = [new Date(range.from), new Date(range.to)];
    await this.client.schedule.getHandle(scheduleIdOf(ref)).backfill({ start, end, overlap: OVERLAP[range.overlap] });
  }

  /**
   * The last workflow of a time, or of a trigger; null: there was none.
   * @param at milliseconds since 1970
   */
  async workflowOf(ref: ScheduleRef, at: number): Promise<{ startedAt: number; status: string } | null> {
    try {
      const { startTime, status } = await this.client.workflow.getHandle(workflowIdAt(ref, at)).describe();
      return { startedAt: startTime.getTime(), status: status.name };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  async remove(ref: ScheduleRef): Promise<void> {
    try {
      await this.client.schedule.getHandle(scheduleIdOf(ref)).delete();
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    }
  }
}

function optionsOf(record: ScheduleRecord) {
  const { project, name, revision, jitterSeconds, startAt, endAt } = record;
  const now = Date.now();
  const input: ScheduledInput = {
    project,
    name,
    revision,
    until: new Date(namedTimes(record, now).until).toISOString(),
  };
  return {
    spec: {
      ...temporalTimes(record, now),
      ...(jitterSeconds > 0 && { jitter: jitterSeconds * 1_000 }),
      ...(startAt !== null && { startAt: new Date(startAt) }),
      ...(endAt !== null && { endAt: new Date(endAt) }),
    },
    policies: {
      overlap: OVERLAP[record.overlap],
      catchupWindow: record.catchupWindowSeconds * 1_000,
      pauseOnFailure: record.pauseOnFailure,
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: SCHEDULED_WORKFLOW,
      workflowId: scheduleIdOf(record),
      taskQueue: CONTROL_QUEUE,
      args: [input] as [ScheduledInput],
      staticSummary: readable(`${record.function}, as ${name} of ${project} says`),
    },
    state: { paused: record.pausedAt !== null },
  };
}

function knownOf({ action, state, info, raw }: ScheduleDescription): KnownSchedule {
  const [input] = (action.args ?? []) as Partial<ScheduledInput>[];
  const workflows = [...info.runningActions, ...info.recentActions.map(({ action: begun }) => begun)];
  return {
    revision: input?.revision ?? 0,
    until: input?.until ?? '',
    isPaused: state.paused,
    createdAt: info.createdAt.toISOString(),
    nextAt: info.nextActionTimes[0]?.toISOString() ?? null,
    begun: workflows.flatMap(({ workflow }) => timeOfWorkflow(workflow.workflowId) ?? []),
    waiting: Number(raw.info?.bufferSize ?? 0),
    isRunning: info.runningActions.length > 0,
    counted: { missed: info.numActionsMissedCatchupWindow, dropped: Number(raw.info?.bufferDropped ?? 0) },
  };
}
