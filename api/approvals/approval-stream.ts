import { createRoute, z } from '@hono/zod-openapi';
import type { ApprovalRecord } from '../../model/approvals/approval.ts';
import { LIMITS } from '../../model/limits.ts';
import type { App, RequestDeps } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { requireProject } from '../projects/require-project.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventData, eventStream } from '../streams/event-stream.ts';
import type { Streams } from '../streams/streams.ts';
import { approvalView } from './approval-schemas.ts';
import { policyQuery } from './policy-schemas.ts';
import { requireSeesAll } from './sees-approvals.ts';

/** How often the store is asked for each listener: two reads by index. */
const POLL_MS = 1_000;
/** API processes whose clocks differ by less miss nothing of one another. Milliseconds. */
const CLOCKS_MS = 10_000;
const CHANGES_PER_POLL = 1_000;

const approvalEvent = z
  .object({ event: z.literal('approval'), id: z.iso.datetime(), data: eventData('Approval') })
  .openapi('ApprovalEvent', { description: 'An approval as it is; the id says until when all changes were sent.' });

const events = createRoute({
  method: 'get',
  path: '/v1/approvals/events',
  tags: ['approvals'],
  operationId: 'watchApprovals',
  summary: 'Follow what is asked for and decided',
  description:
    'Server-sent events `approval`: first what waits, then each approval as it changes, with `sandboxes:read` or `approvals:decide`. ' +
    '`Last-Event-ID` goes on after it; what changed just before may come once more.',
  request: {
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
  responses: {
    200: eventStream('Until the client is gone', approvalEvent),
    ...problems('project_not_found', 'too_many_requests', 'project_quota_exceeded'),
  },
});

export function approvalStreamRoutes(app: App, streams: Streams): void {
  app.openapi(events, async (c) => {
    const deps = c.get('deps');
    const { project = deps.store.viewer.project } = c.req.valid('query');
    requireSeesAll(c);
    await requireProject(deps, project);
    const from = c.req.valid('header')['last-event-id'] ?? null;
    return answerEvents(c, { streams, kind: 'approvals', of: { project } }, (sink) =>
      follow(deps, sink, { project, from }),
    );
  });
}

/** @param from the id of the last event that was seen; null: none */
async function follow(
  { store }: RequestDeps,
  sink: EventSink,
  { project, from }: { project: string; from: string | null },
): Promise<void> {
  /** What was sent of each that changed lately. */
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
