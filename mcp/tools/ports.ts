import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import { type Registration, SANDBOX, tool } from '../lib/tool.ts';

const exposePort = tool({
  name: 'expose_port',
  title: 'Expose a port',
  description:
    'A URL for an HTTP server in a sandbox, good for an hour unless ttlSeconds says else. Whoever has it gets in.',
  input: z.object({
    sandboxId: SANDBOX,
    port: z.int(),
    ttlSeconds: z.int().max(LIMITS.ports.tokenSeconds.max).optional(),
  }),
  output: z.object({ url: z.string(), token: z.string(), expiresAt: z.string() }),
  effect: 'adds',
  isOpen: true,
  async run({ client, signal }, { sandboxId, port, ttlSeconds }) {
    const id = await client.sandboxIdOf(sandboxId, { signal });
    const { url } = await client.ports.open(id, port, {}, { signal });
    const issued = await client.ports.issueToken(id, port, ttlSeconds, { signal });
    const text = `For a browser: ${issued.url}\nFor a program: ${url} with X-Mayfly-Token: ${issued.token}\nUntil ${issued.expiresAt}.`;
    return { text, data: { url: issued.url, token: issued.token, expiresAt: issued.expiresAt } };
  },
});

const closePort = tool({
  name: 'close_port',
  title: 'Close a port',
  description: 'Close a port that was exposed: its URL and tokens are void.',
  input: z.object({ sandboxId: SANDBOX, port: z.int() }),
  output: z.object({ sandboxId: z.string(), port: z.number() }),
  effect: 'destroys',
  async run({ client, signal }, { sandboxId: named, port }) {
    const sandboxId = await client.sandboxIdOf(named, { signal });
    await client.ports.close(sandboxId, port, { signal });
    return { text: `Port ${port} of ${sandboxId} is closed.`, data: { sandboxId, port } };
  },
});

export const portTools: readonly Registration[] = [exposePort, closePort];
