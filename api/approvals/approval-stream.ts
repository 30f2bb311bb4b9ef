import { z } from '@hono/zod-openapi';
import type { ApprovalRecord } from '../../model/approvals/approval.ts';
import { LIMITS } from '../../model/limits.ts';
import { requireProject } from '../../services/service-deps.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventData, eventStream } from '../streams/event-stream.ts';
import { approvalView, policyQuery } from './approval-schemas.ts';
import { assertReadsAll } from './approvals.ts';

const route = routeOf('approvals');

/** Poll interval of the store per listener, ms: two reads by index. */
const POLL_MS = 1_000;
/** Tolerated clock difference between API processes, ms. */
const CLOCKS_MS = 10_000;
const CHANGES_PER_POLL = 1_000;

const approvalEvent = z
  .object({ event: z.literal('approval'), id: z.iso.datetime(), data: eventData('Approval') })
  .openapi('ApprovalEvent', { description: 'An approval as it is; the id says until when all changes were sent.' });

export const approvalStreamRoutes: Route[] = [
  route('watchApprovals', 'get', '/v1/approvals/events', {
    scope: null,
    summary: 'Follow what is asked for and decided',
    description:
      'Server-sent events `approval`: first what waits, then each approval as it changes, with `sandboxes:read` or `approvals:decide`. ' +
      '`Last-Event-ID` goes on after it; what changed just before may come once more.',
    in: {
      query: policyQuery,
      headers: z.object({
        'last-event-id': z
          .string()
          .refine((id) => z.iso.datetime().safeParse(id).success, 'must be the id of an event')
          .openapi({
            pattern: '^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|1\\d|2[0-8])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$',
          })
          .optional(),
      }),
    },
    out: { 200: eventStream('Until the client is gone', approvalEvent) },
    problems: ['project_not_found', 'too_many_requests', 'project_quota_exceeded'],
    handle: async ({ c, deps, store, query, headers }) => {
      const { project = store.viewer.project } = query;
      assertReadsAll(c);
      await requireProject(deps, project);
      const from = headers['last-event-id'] ?? null;
      return answerEvents(c, { kind: 'approvals', of: { project } }, (sink) => follow(deps, sink, { project, from }));
    },
  }),
];

/** @param from id of the last event that the client has; null: none */
async function follow(
  { store }: RequestDeps,
  sink: EventSink,
  { project, from }: { project: string; from: string | null },
): Promise<void> {
  /** Last sent state of recently changed approvals. */
  const sent = new Map<string, { changedAt: string; data: string }>();
  let last = from ?? new Date().toISOString();
  const send = async (record: ApprovalRecord, changedAt: string) => {
    const data = JSON.stringify(approvalView(record));
    if (sent.get(record.id)?.data === data) return;
    sent.set(record.id, { changedAt, data });
    if (changedAt > last) last = changedAt;
    await sink.send({ id: last, event: 'approval', data });
  };
  if (from === null) {
    const { items } = await store.approvals.list({
      project,
      state: 'awaiting-approval',
      limit: LIMITS.approvals.waiting,
    });
    for (const record of items.toReversed()) await send(record, record.askedAt);
    await sink.comment('this is what waits');
  }
  while (!sink.gone.aborted) {
    const changes = await store.approvals.changedSince(project, before(last, CLOCKS_MS), CHANGES_PER_POLL);
    for (const { record, changedAt } of changes) await send(record, changedAt);
    for (const [id, { changedAt }] of sent) if (changedAt < before(last, 2 * CLOCKS_MS)) sent.delete(id);
    await sink.pause(POLL_MS);
  }
}

function before(instant: string, ms: number): string {
  return new Date(Date.parse(instant) - ms).toISOString();
}
