import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import type { SourceOutput } from '../../model/snapshots/source-access.ts';
import { maskText } from '../lib/error-text.ts';
import { IDEMPOTENCY_KEY, type Registration, SANDBOX, tool } from '../lib/tool.ts';

const lookAtSource = tool({
  name: 'look_at_source',
  title: 'Look at a source',
  description: 'Run a read-only command on a source that was prepared for it. What would change it is refused.',
  input: z.object({
    source: z.string().min(1).max(LIMITS.sourceName.maxLength),
    command: z.string().min(1).max(LIMITS.sourceCommand.maxLength),
    timeoutSeconds: z.int().min(1).max(LIMITS.sourceCommand.timeoutSeconds.max).optional(),
    maxChars: z.int().min(200).max(50_000).default(10_000),
    idempotencyKey: IDEMPOTENCY_KEY,
  }),
  output: z.object({ exitCode: z.number().nullable(), stdout: z.string(), stderr: z.string(), isCut: z.boolean() }),
  effect: 'reads',
  isOpen: true,
  async run(call, args) {
    const { client, signal } = call;
    const { source, command, timeoutSeconds, maxChars, idempotencyKey } = args;
    const request = { command, maxOutputBytes: maxChars, ...(timeoutSeconds !== undefined && { timeoutSeconds }) };
    const result = await client.sources.run(source, request, { signal, ...call.key(idempotencyKey, args) });
    const [stdout, stderr] = [formatOutput(result.stdout), formatOutput(result.stderr)];
    const isCut = result.stdout.truncated || result.stderr.truncated;
    const lines = [`exit code ${result.exitCode}`, stdout && `stdout:\n${stdout}`, stderr && `stderr:\n${stderr}`];
    return {
      text: [...lines.filter(Boolean), ...(isCut ? ['[there was more; ask for less, or raise maxChars]'] : [])].join(
        '\n',
      ),
      data: { exitCode: result.exitCode, stdout, stderr, isCut },
    };
  },
});

export const sourceTools: Registration[] = [lookAtSource];

function formatOutput({ text, base64 }: SourceOutput): string {
  return maskText(text ?? Buffer.from(base64 ?? '', 'base64').toString());
}

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
