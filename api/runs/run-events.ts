import { z } from '@hono/zod-openapi';
import { sha256 } from '../../services/intake/accept-event.ts';
import { isOver } from '../../services/runs/run-watch.ts';
import { requireRun } from '../../services/service-deps.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventData, eventStream } from '../streams/event-stream.ts';
import { runAnswer, runParams, runView } from './run-schemas.ts';

const route = routeOf('runs');

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

export const runEventRoutes: Route[] = [
  (app) => app.openAPIRegistry.register('RunProgress', runProgress),
  route('watchRun', 'get', '/v1/runs/{id}/events', {
    scope: 'sandboxes:read',
    summary: 'Follow a run until nothing of it is left',
    description:
      'Server-sent events `run`: the run as it is now, at first and after every change. Whoever comes again with `Last-Event-ID` is sent what it does not know.',
    in: {
      params: runParams,
      headers: z.object({
        'last-event-id': z
          .string()
          .regex(/^[0-9a-f]{0,16}$/, 'must be the id of an event')
          .optional(),
      }),
    },
    out: { 200: eventStream('Until it has ended, and its cleanup is not pending', runEvent) },
    problems: ['run_not_found', 'too_many_requests', 'project_quota_exceeded'],
    handle: async ({ c, deps, params: { id }, headers }) => {
      const seen = headers['last-event-id'] ?? '';
      await requireRun(deps, id);
      const pauseMs = () => POLL_MS * Math.max(1, deps.streams.count('runs') / FEW);
      return answerEvents(c, { kind: 'runs', of: { runId: id } }, (sink) => follow(deps, sink, { id, seen, pauseMs }));
    },
  }),
];

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
