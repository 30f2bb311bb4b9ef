import type { EndpointRecord } from '../../model/webhooks/endpoint.ts';
import { toRunEndEvents, type WebhookEvent } from '../../model/webhooks/event.ts';
import type { HookRecord } from '../../model/webhooks/hook.ts';
import { runRecord } from './run-records.ts';

const at = '2026-01-01T00:00:00.000Z';

export function endpointId(n: number): string {
  return `whe-${String(n).padStart(16, '0')}`;
}

export function endpointRecord(changes: Partial<EndpointRecord> = {}): EndpointRecord {
  return {
    id: endpointId(1),
    project: 'default',
    url: 'https://example.com/mayfly',
    types: ['run.ended'],
    format: 'standard',
    signature: 'v1',
    secrets: [{ key: `whsec_${Buffer.alloc(32, 7).toString('base64')}`, until: null }],
    disabledAt: null,
    disabledFor: null,
    failingSince: null,
    slowUntil: null,
    slowed: 0,
    createdBy: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    createdAt: at,
    updatedAt: at,
    ...changes,
  };
}

export function hookRecord(changes: Partial<HookRecord> = {}): HookRecord {
  return {
    id: 'hok-0123456789abcdef',
    project: 'default',
    function: 'fn',
    scheme: { scheme: 'github' },
    secrets: ['s'],
    filter: null,
    allowedOrigins: [],
    disabledAt: null,
    createdBy: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    createdAt: at,
    ...changes,
  };
}

export function endedEvent(n = 1, project = 'default'): WebhookEvent {
  const [event] = toRunEndEvents(runRecord(n, { project, state: 'ended', outcome: 'succeeded', endedAt: at }));
  if (!event) throw new Error('a run that ended is to be told of');
  return event;
}
