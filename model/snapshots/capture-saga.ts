import type { HostRef } from '../host.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { CaptureRecord } from './capture.ts';

/** Workflow that captures a source, one at a time per source; its id is {@link captureWorkflowId}. */
export const CAPTURE_WORKFLOW = 'capture';
interface CaptureTask extends HostRef {
  captureId: string;
  /** Source whose audit trail records it. */
  sourceId: string;
  source: string;
  actor: Actor;
  /** Time of the request, ISO 8601. */
  at: string;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

export interface CaptureCreation extends CaptureTask, Pick<CaptureRecord, 'projects' | 'allowedEgress'> {
  task: 'create';
}

export type CaptureInput = CaptureCreation | (CaptureTask & { task: 'delete' });

/** Key of Temporal's memo that holds the task and capture of the running workflow. */
export const CAPTURE_MEMO = 'capture';

export function formatCaptureMemo({ task, captureId }: CaptureInput): string {
  return `${task} ${captureId}`;
}

export function captureWorkflowId({ hostId, source }: Pick<CaptureInput, 'hostId' | 'source'>): string {
  return `capture/${hostId}/${source}`;
}

/** Builds the first record of a capture. */
export function newCapture({
  captureId,
  hostId,
  installationId,
  source,
  actor,
  at,
  projects,
  allowedEgress,
}: CaptureCreation): CaptureRecord {
  return {
    id: captureId,
    project: actor.project,
    projects,
    allowedEgress,
    hostId,
    installationId,
    source,
    state: 'creating',
    createdBy: actor,
    createdAt: at,
    readyAt: null,
    saved: null,
    failure: null,
    waitingFor: null,
  };
}
