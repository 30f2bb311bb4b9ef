import type { RunRecord } from '../functions/run.ts';
import { isDeadLetterOutcome } from '../functions/run-state.ts';
import type { SandboxRecord } from '../sandbox/sandbox.ts';
import { isUnclaimed } from '../sandbox/sandbox-state.ts';
import type { ScheduleTime } from '../schedules/schedule.ts';
import { type EndpointRecord, WEBHOOK_TYPES, type WebhookFormat, type WebhookType } from './endpoint.ts';

/** Event for endpoints. */
export interface WebhookEvent {
  /** Deterministic, so that repeated publications are deduplicated. */
  id: string;
  project: string;
  type: WebhookType;
  /** URI reference of the subject or its context. */
  source: string;
  /** Id of the subject. */
  subject: string;
  /** ISO 8601. */
  at: string;
  /** Ids, outcomes and paths: no inputs and no outputs. */
  data: Record<string, unknown>;
}

/** Length of caller's data in a body, characters. */
const MOST_CHARACTERS = 1_024;

/** Returns the events for the end of a run. */
export function toRunEndEvents(run: RunRecord): WebhookEvent[] {
  const at = run.endedAt ?? run.updatedAt;
  const isLost = run.outcome !== null && isDeadLetterOutcome(run.outcome);
  return [eventOf(run, 'run.ended', at), ...(isLost ? [eventOf(run, 'run.dead-lettered', at)] : [])];
}

/** Returns the event for a cleaned-up run. */
export function toCleanupEvent(run: RunRecord): WebhookEvent {
  return eventOf(run, 'run.cleaned', run.updatedAt);
}

export function toDisabledEvent({ id, project, disabledAt, disabledFor }: EndpointRecord): WebhookEvent {
  const at = disabledAt ?? '';
  const path = `/v1/webhook-endpoints/${id}`;
  const data = { endpointId: id, disabledFor, disabledAt, url: path };
  return { id: `${id}/disabled/${at}`, project, type: 'endpoint.disabled', source: path, subject: id, at, data };
}

/** Returns the event for a missed time of a schedule. */
export function toMissedTimeEvent({
  project,
  schedule,
  at,
  localTime,
  reason,
  recordedAt,
}: ScheduleTime): WebhookEvent {
  const source = `/schedules/${schedule}`;
  const url = `/v1${source}/times?state=missed`;
  return {
    id: `${project}${source}/${at}/${localTime}/missed`,
    project,
    type: 'schedule.missed',
    source,
    subject: schedule,
    at: recordedAt,
    data: { schedule, at, localTime, reason, url },
  };
}

/**
 * Returns the event for a sandbox's new state. Null: no event type, or not a caller's sandbox.
 * @param id of the audit event
 * @param at ISO 8601
 */
export function toSandboxEvent(record: SandboxRecord, { id, at }: { id: string; at: string }): WebhookEvent | null {
  const type = WEBHOOK_TYPES.find((each) => each === `sandbox.${record.state}`);
  if (!type || record.builds !== undefined || isUnclaimed(record)) return null;
  const { id: sandboxId, project, name, state, spec, stopReason, failure, stalledBy, proof } = record;
  const isProved = proof ? proof.unproved === undefined : null;
  const data = {
    sandboxId,
    name,
    project,
    state,
    source: spec.source,
    agentId: spec.agentId,
    stopReason,
    stalledBy,
    failure: failure && { code: failure.code },
    cleanup: isProved === null ? null : isProved ? 'proved' : 'unproved',
    createdAt: record.createdAt,
    runningAt: record.runningAt,
    expiresAt: record.expiresAt,
    url: `/v1/sandboxes/${sandboxId}`,
  };
  return { id: `${sandboxId}/${id}`, project, type, source: '/sandboxes', subject: sandboxId, at, data };
}

/** Returns the media type of a body. */
export function getContentType(format: WebhookFormat): string {
  return format === 'standard' ? 'application/json' : 'application/cloudevents+json; charset=utf-8';
}

export function formatBody({ id, type, source, subject, at, data }: WebhookEvent, format: WebhookFormat): string {
  if (format === 'standard') return JSON.stringify({ type, timestamp: at, data });
  const attributes = { specversion: '1.0', id, source, type, subject, time: at };
  return JSON.stringify({ ...attributes, datacontenttype: 'application/json', data });
}

function eventOf(run: RunRecord, type: WebhookType, at: string): WebhookEvent {
  const { id, project, function: name } = run;
  return { id: `${id}/${type}`, project, type, source: `/functions/${name}`, subject: id, at, data: dataOf(run) };
}

function dataOf(run: RunRecord): Record<string, unknown> {
  const { id, project, function: name, version, state, outcome, exitCode, signal, failure, cleanup, event } = run;
  const path = `/v1/runs/${id}`;
  return {
    runId: id,
    project,
    function: name,
    version,
    state,
    outcome,
    exitCode,
    signal,
    failure: failure && { code: failure.code },
    cleanup,
    attempts: run.attempts.length,
    event: { id: brief(event.id), source: brief(event.source), type: brief(event.type) },
    acceptedAt: run.acceptedAt,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    url: path,
    resultUrl: run.result && `${path}/result`,
  };
}

function brief(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
}
