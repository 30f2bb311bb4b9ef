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

/** What an id may be, by the name of its field; of several, each of that name with an `s`. */
const GRAMMARS: Readonly<Record<string, (text: string) => boolean>> = {
  // whatever steps are kept in line by: sandboxes, what has steps of its own on a host, and what has an audit trail
  sandboxId: (text) => ALL_WITH_STEPS.some((is) => is(text)) || isPowerOf(text),
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
  restoreId: (text) => isOperationId(withoutEnd(text, '-back')), // of its undo: workflows/sandbox/restore-sandbox.ts
  hostId: isHostId,
  installationId: isInstallationId,
};

/** Starts and stops of a source are in a line beside its other steps: workflows/source/source-power.ts. */
function isPowerOf(text: string): boolean {
  return text.endsWith('/power') && isSourceId(withoutEnd(text, '/power'));
}

function withoutEnd(text: string, end: string): string {
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}

/**
 * Refuses an activity whose argument names a thing by what is no id of ours: whoever reaches a queue chooses the argument, and
 * paths, domains and queries are made of ids. It stands before every activity, so that none begins without it.
 */
export class IdCheck implements ActivityInboundCallsInterceptor {
  execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const forged = forgedIdIn(input.args);
    if (forged === null) return next(input);
    const why = `An activity was given ${forged}, which is no id of Mayfly: no saga has asked for it.`;
    throw activityFailure(new MayflyError('request_refused', why));
  }
}

/** The first field that should be an id and is not, for a person; null: there is none. An id may be null where there is none. */
export function forgedIdIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, field] of Object.entries(value)) {
    const forged = (isForged(name, field) ? `${name} ${JSON.stringify(field)}` : null) ?? forgedIdIn(field);
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
