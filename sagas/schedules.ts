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
import type { temporal } from '@temporalio/proto';
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
  /** When Temporal was asked: it may know more by now. Milliseconds since 1970. */
  askedAt: number;
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

function encodedOverlap(overlap: Overlap) {
  return encodeScheduleOverlapPolicy(OVERLAP[overlap]) ?? null;
}

/** The schedules in Temporal. Each of these may be done again, by any number of processes. */
export class ScheduleEngine {
  constructor(private readonly client: Client) {}

  /** Null: Temporal has none. */
  async describe(ref: ScheduleRef): Promise<KnownSchedule | null> {
    const askedAt = Date.now();
    try {
      return { askedAt, ...knownOf(await this.client.schedule.getHandle(scheduleIdOf(ref)).describe()) };
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
    const { id, from, to, overlap } = ask;
    if (ask.kind === 'backfill')
      return this.backfill(ref, { from: Date.parse(from ?? ''), to: Date.parse(to ?? ''), overlap }, id);
    // the client's own trigger gives all of one second one workflow id
    const scheduledTime = msToTs(triggerTimeOf(ask));
    await this.#patch(ref, id, { triggerImmediately: { overlapPolicy: encodedOverlap(overlap), scheduledTime } });
  }

  /**
   * Has times run that have passed.
   * @param range inclusive, milliseconds since 1970
   * @param id what is asked once more with the same is done once
   */
  async backfill(ref: ScheduleRef, range: { from: number; to: number; overlap: Overlap }, id: string): Promise<void> {
    const [startTime, endTime] = [msToTs(range.from), msToTs(range.to)];
    await this.#patch(ref, id, {
      backfillRequest: [{ startTime, endTime, overlapPolicy: encodedOverlap(range.overlap) }],
    });
  }

  /** Two processes may look at one schedule at once: a second trigger of the same time would fill the buffer. */
  async #patch(ref: ScheduleRef, requestId: string, patch: temporal.api.schedule.v1.ISchedulePatch): Promise<void> {
    const { namespace, identity } = this.client.options;
    const request = { namespace, identity, requestId, scheduleId: scheduleIdOf(ref), patch };
    await this.client.workflowService.patchSchedule(request);
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

function knownOf({ action, state, info, raw }: ScheduleDescription): Omit<KnownSchedule, 'askedAt'> {
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
