import {
  Client,
  type ClientOptions,
  type ElicitRequest,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { bearer, call, type Revision, type ToolResult } from './mcp-clients.ts';
import type { McpDoor } from './mcp-door.ts';

export type Elicitation = NonNullable<ClientOptions['capabilities']>['elicitation'];
export type Params = ElicitRequest['params'];

/** Answer of a user to an elicitation. */
export type Answering = (params: Params) => Promise<{
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | boolean>;
}>;

let asked = 0;

/** Requests a different internet sandbox each time, by a client whose user answers with `answer`. */
export async function asks(
  { url, apiKey }: Pick<McpDoor, 'url' | 'apiKey'>,
  revision: Revision,
  elicitation: Elicitation,
  answer: Answering,
): Promise<ToolResult> {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const capabilities = elicitation ? { elicitation } : {};
  const client = new Client({ name: 'asker', version: '0' }, { capabilities, versionNegotiation: { mode } });
  if (elicitation) client.setRequestHandler('elicitation/create', ({ params }) => answer(params));
  const requestInit = { headers: bearer(apiKey) };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
  try {
    const wish = { source: 'golden-debian12', egress: 'internet', metadata: { n: String(++asked) } };
    return await call(client, 'create_sandbox', wish);
  } finally {
    await client.close();
  }
}
