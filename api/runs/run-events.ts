import { createRoute, z } from '@hono/zod-openapi';
import { sha256 } from '../acceptance/accept-event.ts';
import { requires } from '../http/auth.ts';
import type { App, RequestDeps } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { noQuery } from '../http/schemas.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventData, eventStream } from '../streams/event-stream.ts';
import type { Streams } from '../streams/streams.ts';
import { runAnswer, runParams } from './run-schemas.ts';
import { requireRun, runView } from './run-view.ts';
import { isOver } from './run-watch.ts';

/** How often the store is asked for each of few listeners: one read by id. Milliseconds. */
const POLL_MS = 250;
/** From so many on each is asked for less often. */
const FEW = 32;
/** Hex digits of the digest that names an event. */
const ID_LENGTH = 16;

/** The `data` of an event: its artifacts can be a thousand, and are the same at its end and after. */
const runProgress = runAnswer.omit({ artifacts: true }).openapi('RunProgress');

const runEvent = z
  .object({ event: z.literal('run'), id: z.string(), data: eventData('RunProgress') })
  .openapi('RunChange', { description: 'The run as it is now, without its artifacts; `id` is of what it says.' });

const events = createRoute({
  method: 'get',
  path: '/v1/runs/{id}/events',
  tags: ['runs'],
  operationId: 'watchRun',
  summary: 'Follow a run until nothing of it is left',
  description:
    'Server-sent events `run`: the run as it is now, at first and after every change. Whoever comes again with `Last-Event-ID` is sent what it does not know.',
  middleware: [requires('sandboxes:read')],
  request: {
    params: runParams,
    query: noQuery,
    headers: z.object({
      'last-event-id': z
        .string()
        .regex(/^[0-9a-f]{0,16}$/, 'must be the id of an event')
        .optional(),
    }),
  },
  responses: {
    200: eventStream('Until it has ended, and its cleanup is not pending', runEvent),
    ...problems('run_not_found', 'too_many_requests', 'project_quota_exceeded'),
  },
});

export function runEventRoutes(app: App, streams: Streams): void {
  app.openAPIRegistry.register('RunProgress', runProgress);
  app.openapi(events, async (c) => {
    const { id } = c.req.valid('param');
    const seen = c.req.valid('header')['last-event-id'] ?? '';
    await requireRun(c.get('deps'), id);
    const pauseMs = () => POLL_MS * Math.max(1, streams.count('runs') / FEW);
    return answerEvents(c, { streams, kind: 'runs', of: { runId: id } }, (sink) =>
      follow(c.get('deps'), sink, { id, seen, pauseMs }),
    );
  });
}

async function follow(
  deps: RequestDeps,
  sink: EventSink,
  { id, seen: known, pauseMs }: { id: string; seen: string; pauseMs: () => number },
): Promise<void> {
  let seen = known;
  while (!sink.gone.aborted) {
    const run = await requireRun(deps, id);
    const { artifacts: _artifacts, ...progress } = runView(run);
    const data = JSON.stringify(progress);
    const eventId = sha256(data).slice(0, ID_LENGTH);
    if (eventId !== seen) await sink.send({ id: eventId, event: 'run', data });
    seen = eventId;
    if (isOver(run, 'clean')) return;
    await sink.pause(pauseMs());
  }
}
