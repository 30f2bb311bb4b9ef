import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';

export type Revision = '2025-11-25' | '2026-07-28';

/** Connects the SDK's own client over HTTP. */
export async function connectClient(url: string, apiKey: string, revision: Revision): Promise<Client> {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers: bearer(apiKey) } }),
  );
  return client;
}

export function bearer(apiKey: string): Record<string, string> {
  return { Authorization: `Bearer ${apiKey}` };
}

export interface ToolResult {
  text: string;
  data: Record<string, unknown>;
  isError: boolean;
}

/** Calls a tool; asserts that text and data are both present, unless it is an error. */
export async function call(client: Client, name: string, args: object, options: object = {}): Promise<ToolResult> {
  const result = await client.callTool({ name, arguments: { ...args } }, options);
  const content = result.content as { type: string; text: string }[];
  expect(content).toHaveLength(1);
  const isError = result.isError === true;
  if (isError) expect(result.structuredContent).toBeUndefined();
  const data = (result.structuredContent ?? {}) as Record<string, unknown>;
  return { text: content[0]?.text ?? '', data, isError };
}

/** Calls back with a client of that revision, then closes it. */
export async function withClient(
  door: { url: string; apiKey: string },
  revision: Revision,
  act: (client: Client) => Promise<void>,
): Promise<void> {
  const client = await connectClient(door.url, door.apiKey, revision);
  try {
    await act(client);
  } finally {
    await client.close();
  }
}
