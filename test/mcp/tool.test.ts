// Guards: a call abandoned at any time is undone; an answered one can still be undone later. Costs milliseconds.
import type { McpServer } from '@modelcontextprotocol/server';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Caller, RecentUndos, type Undo } from '../../mcp/lib/call.ts';
import { tool } from '../../mcp/lib/tool.ts';

type Handler = (args: object, context: object) => Promise<{ isError?: boolean }>;

function handlerOf(made: RecentUndos, run: (undoneBy: (undo: Undo | null) => void) => Promise<void>): Handler {
  let handler: Handler | undefined;
  const registration = tool({
    name: 'make',
    title: 'Make',
    description: 'Makes something.',
    input: z.object({}),
    output: z.object({}),
    effect: 'adds',
    async run(call) {
      await run((undo) => call.undoneBy(undo));
      return { text: 'made', data: {} };
    },
  });
  const inner = { getClientCapabilities: () => undefined };
  const server = { server: inner, registerTool: (_name: string, _config: object, given: Handler) => (handler = given) };
  const caller = { client: {}, session: 'one', made } as unknown as Caller;
  registration(server as unknown as McpServer, caller, '');
  if (!handler) throw new Error('no tool was registered');
  return handler;
}

const contextOf = (signal: AbortSignal) => ({ mcpReq: { id: 7, signal, requestState: () => undefined } });

it.each([
  ['before the step is over', true],
  ['after the step, before the answer', false],
])('undoes the call when the caller gives up %s', async (_when, isLost) => {
  const undo = vi.fn(async () => {});
  const caller = new AbortController();
  const handle = handlerOf(new RecentUndos(), async (undoneBy) => {
    undoneBy(undo);
    caller.abort();
    if (isLost) throw new Error('the answer was lost');
  });
  await expect(handle({}, contextOf(caller.signal))).rejects.toThrow('aborted');
  expect(undo).toHaveBeenCalledOnce();
});

it('undoes once when the caller gives up after the answer, and only calls with an undo', async () => {
  const made = new RecentUndos();
  const undo = vi.fn(async () => {});
  const { signal } = new AbortController();
  await handlerOf(made, async (undoneBy) => undoneBy(undo))({}, contextOf(signal));
  expect(undo).not.toHaveBeenCalled();
  await made.undo(7);
  await made.undo(7);
  expect(undo).toHaveBeenCalledOnce();

  await handlerOf(made, async (undoneBy) => {
    undoneBy(undo);
    undoneBy(null);
  })({}, contextOf(signal));
  await made.undo(7);
  expect(undo).toHaveBeenCalledOnce();
});
