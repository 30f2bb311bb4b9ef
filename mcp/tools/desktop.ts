import { z } from 'zod';
import type { DesktopAction } from '../../clients/typescript/http/openapi.ts';
import type { Call } from '../lib/call.ts';
import { cleanText } from '../lib/error-text.ts';
import { omitUndefined, type Registration, SANDBOX, tool } from '../lib/tool.ts';

const input = z.object({
  sandboxId: SANDBOX,
  action: z.enum(['screenshot', 'windows', 'open', 'move', 'click', 'drag', 'scroll', 'key', 'type']),
  x: z.int().optional(),
  y: z.int().optional(),
  toX: z.int().optional(),
  toY: z.int().optional(),
  button: z.enum(['left', 'middle', 'right']).optional(),
  count: z.int().optional(),
  down: z.int().optional().describe('Wheel steps'),
  text: z.string().optional().describe('To type, keys (ctrl+l), or address to open'),
});

const desktop = tool({
  name: 'desktop',
  title: 'Use a screen',
  description: 'See or use the screen of a sandbox of desktop-debian12. Answers with a screenshot.',
  input,
  output: z.object({ text: z.string() }),
  effect: 'destroys',
  isOpen: true,
  async run(call, args) {
    const { client, signal } = call;
    const { sandboxId } = args;
    if (args.action === 'windows') {
      const { width, height, pointer, windows } = await client.desktop.look(sandboxId, { signal });
      const head = `screen ${width}x${height}, pointer at ${pointer.x},${pointer.y}`;
      const lines = windows.map((one) => {
        const active = one.isActive ? ' active' : '';
        return `${one.x},${one.y} ${one.width}x${one.height}${active} ${cleanText(one.class)}: ${cleanText(one.title)}`;
      });
      return textAnswer([head, ...lines].join('\n'));
    }
    await begin(call, args);
    const png = await client.desktop.screenshot(sandboxId, { signal });
    return {
      ...textAnswer(args.action === 'screenshot' ? 'As it is now.' : 'Done; programs may still be at it.'),
      png,
    };
  },
});

async function begin(call: Call, { sandboxId, action, ...rest }: z.output<typeof input>): Promise<void> {
  const { client, signal } = call;
  const { text = '', x, y, toX, toY, button, count, down } = rest;
  const options = { ...call.key(undefined, { sandboxId, action, ...rest }), signal };
  if (action === 'screenshot' || action === 'windows') return;
  if (action === 'open') {
    await client.desktop.open(sandboxId, { url: text }, options);
    return;
  }
  // The API reports missing or extra fields.
  const fields = { move: { x, y }, click: { x, y, button, count }, drag: { x, y, toX, toY, button } };
  const others = { scroll: { x, y, down }, key: { keys: text }, type: { text } };
  await client.desktop.act(
    sandboxId,
    { action, ...omitUndefined({ ...fields, ...others }[action]) } as DesktopAction,
    options,
  );
}

function textAnswer(text: string) {
  return { text, data: { text } };
}

export const desktopTools: Registration[] = [desktop];
