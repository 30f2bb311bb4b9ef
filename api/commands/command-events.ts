import { createRoute, z } from '@hono/zod-openapi';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { requires } from '../http/auth.ts';
import type { App, RequestDeps } from '../http/context.ts';
import { problems } from '../http/problem-answers.ts';
import { noQuery } from '../http/schemas.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventStream } from '../streams/event-stream.ts';
import type { Streams } from '../streams/streams.ts';
import { CommandFollower } from './command-follower.ts';
import { commandEvent, commandOutput, commandParams } from './command-schemas.ts';
import { commandView } from './command-view.ts';
import { requireCommand } from './commands.ts';

const events = createRoute({
  method: 'get',
  path: '/v1/sandboxes/{id}/commands/{commandId}/events',
  tags: ['commands'],
  operationId: 'followCommand',
  summary: 'Follow the output of a command until its end',
  description:
    'Server-sent events. `output`: what the command wrote, `{stream, at, offset, text}` or, where it is not UTF-8, `base64`, ' +
    'live and in the order in which it was written; the event id says how much of both streams has been sent, so that ' +
    '`Last-Event-ID` goes on after it. `ended`: the command, when all was sent.',
  middleware: [requires('sandboxes:read')],
  request: {
    params: commandParams,
    query: noQuery,
    headers: z.object({
      'last-event-id': z
        .string()
        .regex(/^(?:\d{1,10}-\d{1,10})?$/, 'must be the id of an event')
        .optional(),
    }),
  },
  responses: {
    200: eventStream('Until its end', commandEvent),
    ...problems('sandbox_not_found', 'command_not_found', 'too_many_requests', 'project_quota_exceeded'),
  },
});

export function commandEventRoutes(app: App, streams: Streams): void {
  app.openAPIRegistry.register('CommandOutput', commandOutput);
  app.openapi(events, async (c) => {
    const record = await requireCommand(c.get('deps'), c.req.valid('param'));
    const [stdout = 0, stderr = 0] = (c.req.valid('header')['last-event-id'] || '0-0').split('-').map(Number);
    const what = { streams, kind: 'commands', of: { commandId: record.id } } as const;
    return answerEvents(c, what, (sink) => follow(c.get('deps'), sink, record, { stdout, stderr }));
  });
}

async function follow(
  deps: RequestDeps,
  sink: EventSink,
  record: CommandRecord,
  from: { stdout: number; stderr: number },
): Promise<void> {
  const follower = new CommandFollower(deps, record, from, sink.gone);
  for await (const { place, ...data } of follower.pieces()) {
    await sink.send({ id: `${place.stdout}-${place.stderr}`, event: 'output', data: JSON.stringify(data) });
  }
  const ended = await requireCommand(deps, { id: record.sandboxId, commandId: record.id });
  await sink.send({ event: 'ended', data: JSON.stringify(commandView(ended)) });
}
