import { z } from '@hono/zod-openapi';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { actor, instant } from '../http/schemas.ts';
import { sandboxParams, sandboxView } from '../resources/sandbox-schemas.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventData, eventStream } from '../streams/event-stream.ts';

const route = routeOf('sandboxes');

/** Poll interval of the store for each of a few listeners, ms: three reads by id, about 3 ms of the embedded store. */
const POLL_MS = 250;
/** Number of listeners above which each is polled less often: all take about a third of the embedded store's time. */
const FEW = 32;
const ENTRIES_PER_POLL = 50;

const auditEvent = z
  .object({
    eventId: z.string(),
    kind: z.string(),
    actor: actor.nullable(),
    runId: z.string().nullable(),
    hostId: z.string().nullable(),
    at: instant,
    detail: z.record(z.string(), z.unknown()),
  })
  .openapi('AuditEvent');

const sandboxEvent = z
  .discriminatedUnion('event', [
    z.object({ event: z.literal('audit'), id: z.string(), data: eventData('AuditEvent') }),
    z.object({ event: z.literal('sandbox'), data: eventData('Sandbox') }),
  ])
  .openapi('SandboxEvent', {
    description: '`audit`: an entry of the audit trail, with its number. `sandbox`: the sandbox as it is now.',
  });

export const sandboxEventRoutes: Route[] = [
  (app) => app.openAPIRegistry.register('AuditEvent', auditEvent),
  route('watchSandbox', 'get', '/v1/sandboxes/{id}/events', {
    scope: 'sandboxes:read',
    summary: 'Follow a sandbox until its end',
    description:
      'Server-sent events. `audit`: an entry of the audit trail, its number as event id, so that `Last-Event-ID` goes on after it. ' +
      '`sandbox`: the sandbox as it is now, at first and after every change.',
    in: {
      params: sandboxParams,
      headers: z.object({
        'last-event-id': z
          .string()
          .regex(/^\d{0,9}$/, 'must be the number of an event')
          .optional(),
      }),
    },
    out: { 200: eventStream('Until its end', sandboxEvent) },
    problems: ['sandbox_not_found', 'too_many_requests', 'project_quota_exceeded'],
    handle: async ({ c, deps, params: { id }, headers }) => {
      const last = headers['last-event-id'];
      await requireSandbox(deps, id);
      const pauseMs = () => POLL_MS * Math.max(1, deps.streams.count('sandboxes') / FEW);
      return answerEvents(c, { kind: 'sandboxes', of: { sandboxId: id } }, (sink) =>
        follow(deps, sink, { id, from: last ? Number(last) : -1, pauseMs }),
      );
    },
  }),
];

async function follow(
  { store }: RequestDeps,
  sink: EventSink,
  { id, from, pauseMs }: { id: string; from: number; pauseMs: () => number },
): Promise<void> {
  let after = from;
  let seen = '';
  while (!sink.gone.aborted) {
    // Read before the entries: once the sandbox has ended, the next entries are complete.
    const record = await requireSandbox({ store }, id);
    const entries = await store.audit.entries(id, { after, limit: ENTRIES_PER_POLL });
    for (const { seq, body } of entries) {
      await sink.send({ id: String(seq), event: 'audit', data: body });
      after = seq;
    }
    const data = JSON.stringify(sandboxView(record));
    if (data !== seen) await sink.send({ event: 'sandbox', data });
    seen = data;
    if (isFinal(record.state) && entries.length === 0) return;
    if (entries.length < ENTRIES_PER_POLL) await sink.pause(pauseMs());
  }
}
