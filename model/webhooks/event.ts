import { isUnsettled, type RunRecord } from '../functions/run.ts';
import type { EndpointRecord, WebhookFormat, WebhookType } from './endpoint.ts';

/** Something that endpoints are told of. */
export interface WebhookEvent {
  /** The same of the same, whoever tells of it. */
  id: string;
  project: string;
  type: WebhookType;
  /** URI reference: what it happened to, or in. */
  source: string;
  /** Id of what it happened to. */
  subject: string;
  /** ISO 8601. */
  at: string;
  /** Ids, outcomes and paths: neither what came in, nor what went out. */
  data: Record<string, unknown>;
}

/** Of the data of the caller's in a body. Characters. */
const MOST_CHARACTERS = 1_024;

/** What is to be told of the end of a run. */
export function eventsOfEnd(run: RunRecord): WebhookEvent[] {
  const at = run.endedAt ?? run.updatedAt;
  const isLost = run.outcome !== null && isUnsettled(run.outcome);
  return [eventOf(run, 'run.ended', at), ...(isLost ? [eventOf(run, 'run.dead-lettered', at)] : [])];
}

/** What is to be told when nothing of a run is left. */
export function eventOfCleanup(run: RunRecord): WebhookEvent {
  return eventOf(run, 'run.cleaned', run.updatedAt);
}

export function eventOfDisabling({ id, project, disabledAt, disabledFor }: EndpointRecord): WebhookEvent {
  const at = disabledAt ?? '';
  const path = `/v1/webhook-endpoints/${id}`;
  const data = { endpointId: id, disabledFor, disabledAt, url: path };
  return { id: `${id}/disabled/${at}`, project, type: 'endpoint.disabled', source: path, subject: id, at, data };
}

/** The media type of a body. */
export function contentTypeOf(format: WebhookFormat): string {
  return format === 'standard' ? 'application/json' : 'application/cloudevents+json; charset=utf-8';
}

export function bodyOf({ id, type, source, subject, at, data }: WebhookEvent, format: WebhookFormat): string {
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
