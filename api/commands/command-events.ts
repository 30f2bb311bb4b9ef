import { z } from '@hono/zod-openapi';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { CommandFollower } from '../../services/commands/command-follower.ts';
import type { RequestDeps } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { answerEvents, type EventSink } from '../streams/answer-events.ts';
import { eventStream } from '../streams/event-stream.ts';
import { commandEvent, commandOutput, commandParams } from './command-schemas.ts';
import { requireCommand } from './commands.ts';
import { commandView } from './start-command.ts';

const route = routeOf('commands');

export const commandEventRoutes: Route[] = [
  (app) => app.openAPIRegistry.register('CommandOutput', commandOutput),
  route('watchCommand', 'get', '/v1/sandboxes/{id}/commands/{commandId}/events', {
    scope: 'sandboxes:read',
    summary: 'Follow the output of a command until its end',
    description:
      'Server-sent events. `output`: what the command wrote, `{stream, at, offset, text}` or, where it is not UTF-8, `base64`, ' +
      'live and in the order in which it was written; the event id says how much of both streams has been sent, so that ' +
      '`Last-Event-ID` goes on after it. `ended`: the command, when all was sent.',
    in: {
      params: commandParams,
      headers: z.object({
        'last-event-id': z
          .string()
          .regex(/^(?:\d{1,10}-\d{1,10})?$/, 'must be the id of an event')
          .optional(),
      }),
    },
    out: { 200: eventStream('Until its end', commandEvent) },
    problems: ['sandbox_not_found', 'command_not_found', 'too_many_requests', 'project_quota_exceeded'],
    handle: async ({ c, deps, params, headers }) => {
      const record = await requireCommand(deps, params);
      const [stdout = 0, stderr = 0] = (headers['last-event-id'] || '0-0').split('-').map(Number);
      const what = { kind: 'commands', of: { commandId: record.id } } as const;
      return answerEvents(c, what, (sink) => follow(deps, sink, record, { stdout, stderr }));
    },
  }),
];

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
