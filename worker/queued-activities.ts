import { type Context, log } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import type { ControlActivities } from '../activities/control.ts';
import { MayflyError } from '../model/errors.ts';
import { activityFailure } from './activity-failure.ts';

/**
 * Activities that workflows schedule on the control worker's queue. None of them writes a given audit event, or signs.
 */
const QUEUED: ReadonlySet<string> = new Set<keyof ControlActivities>([
  'advanceSchedule',
  'awaitListed',
  'awaitPower',
  'compareRecords',
  'destroyStrangers',
  'endLostPlaybooks',
  'endRuns',
  'endUnproved',
  'forgetThingsOn',
  'giveHostUp',
  'hostsToReconcile',
  'keepAttempt',
  'knownHosts',
  'leaveAskedHost',
  'evictMembers',
  'proposeHosts',
  'readmitHost',
  'recordSnapshot',
  'restorable',
  'restoreRecords',
  'resumeCaptures',
  'resumeCommands',
  'resumePools',
  'resumeRuns',
  'resumeImages',
  'resumeSnapshots',
  'resumeSources',
  'resumeTemplates',
  'sandboxesOn',
  'stateOf',
  'strangersAmong',
  'takeDiffSide',
  'sleepAttempt',
  'wakeAttempt',
  'takeImageLayer',
  'takeOverSandboxes',
  'takePlaybookSnapshot',
  'takeSetupSnapshot',
  'wantTemplate',
]);

/**
 * Refuses activities of foreign workflows: anyone who reaches Temporal can make a workflow schedule any activity on any
 * queue. Local activities come from the workflows of this worker.
 */
export class QueuedActivities implements ActivityInboundCallsInterceptor {
  constructor(private readonly context: Context) {}

  async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { isLocal, activityType, workflowExecution, workflowType } = this.context.info;
    if (isLocal || QUEUED.has(activityType)) return next(input);
    log.warn('an activity was refused', { activityType, workflowType, workflowId: workflowExecution?.workflowId });
    const why = `${activityType} is for the workflows of the control worker alone, and ${workflowType} is none of them here.`;
    throw activityFailure(new MayflyError('request_refused', why));
  }
}
