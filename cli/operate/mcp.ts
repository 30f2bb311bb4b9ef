import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { ArgsDef } from 'citty';
import { createPresentation } from '../../mcp/lib/showing.ts';
import { createMcpServer } from '../../mcp/mcp-server.ts';
import { AnsweringTransport } from '../../mcp/stdio-transport.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { connectWithoutApproval, findConnection } from '../terminal/connection.ts';

/** Time limit for undoing a leaving client's unfinished calls, ms. */
const LAST_MS = 1_500;

const ARGS = {
  prefix: { type: 'string', description: 'Before the name of each tool, where others have the same', default: '' },
} as const satisfies ArgsDef;

/** Tools that are undone when their client leaves: no one else knows the sandboxes. */
const MAKERS = ['create_sandbox', 'fork'];

function makesMachines(message: JSONRPCMessage, prefix: string): boolean {
  if (!('method' in message) || message.method !== 'tools/call') return false;
  const name = message.params?.['name'];
  return MAKERS.some((maker) => name === prefix + maker);
}

/**
 * `mayfly mcp`: serves the tools over standard input and output, for clients that start their servers. Ends with its
 * input.
 */
export const mcpCommand = customCommand({
  args: ARGS,
  async run({ io, args: { prefix } }) {
    if (!/^[a-z0-9_]{0,20}$/.test(prefix)) throw usageError('--prefix takes at most 20 of a-z, 0-9 and _');
    const client = connectWithoutApproval(io);
    const { apiUrl, apiKey } = findConnection(io.env);
    const showing = createPresentation(apiUrl, apiKey);
    const connection = randomUUID();
    const { version } = packageJson;
    const transport = new AnsweringTransport(process.stdin, process.stdout);
    const server = serveStdio(
      ({ era }) =>
        createMcpServer({
          caller: { client, showing, session: era === 'legacy' ? connection : null },
          version,
          prefix,
        }),
      { onerror: (error) => io.note(`mayfly mcp: ${error.message}`), transport },
    );
    const stopped = new Promise<unknown>((resolve) => {
      io.signal.addEventListener('abort', resolve, { once: true });
    });
    const ended = new Promise<unknown>((resolve) => {
      for (const over of ['end', 'close', 'error']) process.stdin.once(over, resolve);
    });
    await Promise.race([stopped, ended]);
    await Promise.race([stopped, transport.answerAll((message) => makesMachines(message, prefix))]);
    await server.close();
    setTimeout(() => process.exit(EXIT.ok), LAST_MS).unref();
    return EXIT.ok;
  },
});
