import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import { type Registration, SANDBOX, tool } from '../tool.ts';

const exposePort = tool({
  name: 'expose_port',
  title: 'Expose a port',
  description:
    'A URL for an HTTP server in a sandbox, good for an hour unless ttlSeconds says else. Whoever has it gets in.',
  input: z.object({
    sandbox: SANDBOX,
    port: z.int(),
    ttlSeconds: z.int().max(LIMITS.ports.tokenSeconds.max).optional(),
  }),
  output: z.object({ url: z.string(), token: z.string(), expiresAt: z.string() }),
  effect: 'adds',
  isOpen: true,
  async run({ client, signal }, { sandbox, port, ttlSeconds }) {
    const id = await client.sandboxIdOf(sandbox, { signal });
    const { url } = await client.ports.open(id, port, {}, { signal });
    const issued = await client.ports.issueToken(id, port, ttlSeconds, { signal });
    const text = `For a browser: ${issued.url}\nFor a program: ${url} with X-Mayfly-Token: ${issued.token}\nUntil ${issued.expiresAt}.`;
    return { text, data: { url: issued.url, token: issued.token, expiresAt: issued.expiresAt } };
  },
});

export const portTools: readonly Registration[] = [exposePort];
