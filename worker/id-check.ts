import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { MayflyError } from '../model/errors.ts';
import {
  isApprovalId,
  isBulkId,
  isCaptureId,
  isDeliveryId,
  isHostId,
  isImageId,
  isInstallationId,
  isOperationId,
  isPlaybookId,
  isRunId,
  isSnapshotId,
  isSourceId,
} from '../model/ids.ts';
import { isSandboxId } from '../model/sandbox-id.ts';
import { activityFailure } from './activity-failure.ts';

const ALL_WITH_STEPS = [
  isSandboxId,
  isSourceId,
  isSnapshotId,
  isCaptureId,
  isApprovalId,
  isImageId,
  isPlaybookId,
  isRunId,
];

/** Formats of ids by field name; the name with an `s` is a list of them. */
const GRAMMARS: Readonly<Record<string, (text: string) => boolean>> = {
  // the mutex keys of steps: sandboxes, other things with steps on a host, and subjects of the audit
  sandboxId: (text) => ALL_WITH_STEPS.some((is) => is(text)) || isPowerKey(text),
  approvalId: isApprovalId,
  attemptId: isSandboxId,
  builderId: isSandboxId,
  probeId: isSandboxId,
  snapshotId: isSnapshotId,
  templateId: isSnapshotId,
  templateKey: (text) => /^[0-9a-f]{64}$/.test(text),
  parentSnapshotId: isSnapshotId,
  captureId: isCaptureId,
  sourceId: isSourceId,
  imageId: isImageId,
  playbookId: isPlaybookId,
  bulkId: isBulkId,
  setupKey: (text) => /^[0-9a-f]{64}$/.test(text),
  diskSnapshotId: isSnapshotId,
  checkerId: isSandboxId,
  describedId: isSandboxId,
  deliveryId: isDeliveryId,
  operationId: isOperationId,
  restoreId: (text) => isOperationId(stripSuffix(text, '-back')), // its compensation: workflows/sandbox/restore-sandbox.ts
  hostId: isHostId,
  installationId: isInstallationId,
};

/**
 * Recognizes the mutex key of a source's starts and stops, which are not serialized with its other steps:
 * workflows/source/source-power.ts.
 */
function isPowerKey(text: string): boolean {
  return text.endsWith('/power') && isSourceId(stripSuffix(text, '/power'));
}

function stripSuffix(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}

/**
 * Refuses an activity whose argument has an invalid id: anyone who reaches a queue chooses the argument, and paths,
 * domains and queries contain ids. Runs before every activity.
 */
export class IdCheck implements ActivityInboundCallsInterceptor {
  execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const forged = findForgedId(input.args);
    if (forged === null) return next(input);
    const why = `An activity was given ${forged}, which is no id of Mayfly: no saga has asked for it.`;
    throw activityFailure(new MayflyError('request_refused', why));
  }
}

/** Returns the first field with an invalid id, for a person; null: there is none. An id may be null. */
export function findForgedId(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, field] of Object.entries(value)) {
    const forged = (isForged(name, field) ? `${name} ${JSON.stringify(field)}` : null) ?? findForgedId(field);
    if (forged !== null) return forged.slice(0, 200);
  }
  return null;
}

function isForged(name: string, field: unknown): boolean {
  if (field === null || field === undefined) return false;
  const one = GRAMMARS[name];
  if (one !== undefined && Object.hasOwn(GRAMMARS, name)) return typeof field !== 'string' || !one(field);
  const each = name.endsWith('Ids') ? GRAMMARS[name.slice(0, -1)] : undefined;
  if (each === undefined) return false;
  return !Array.isArray(field) || !field.every((id) => typeof id === 'string' && each(id));
}
