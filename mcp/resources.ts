import { type McpServer, ResourceNotFoundError, ResourceTemplate, type Variables } from '@modelcontextprotocol/server';
import { MayflyApiError } from '../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../clients/typescript/mayfly-client.ts';
import { boundedJson, CHARS } from './lib/bounded.ts';
import { formatExcerpt, readExcerpt } from './lib/byte-part.ts';
import { maskText } from './lib/error-text.ts';

const JSON_TYPE = 'application/json';
const ENTRIES = 200;

interface Kind {
  name: string;
  title: string;
  uri: string;
  mimeType: string;
  read: (client: MayflyClient, id: (name: string) => string, signal: AbortSignal) => Promise<string>;
}

const KINDS: Kind[] = [
  {
    name: 'sandbox',
    title: 'A sandbox, as it is',
    uri: 'mayfly://sandboxes/{id}',
    mimeType: JSON_TYPE,
    read: async (client, id, signal) => json(await client.getSandbox(id('id'), { signal })),
  },
  {
    name: 'audit',
    title: 'The audit of a sandbox',
    uri: 'mayfly://sandboxes/{id}/audit',
    mimeType: JSON_TYPE,
    read: async (client, id, signal) => json(await client.sandboxAudit(id('id'), { limit: ENTRIES, signal })),
  },
  {
    name: 'output',
    title: 'The beginning and the end of what a command has written',
    uri: 'mayfly://sandboxes/{id}/commands/{commandId}/{stream}',
    mimeType: 'text/plain',
    read: async (client, id, signal) => {
      const stream = id('stream') === 'stderr' ? 'stderr' : 'stdout';
      const command = await client.commands.get(id('id'), id('commandId'), { signal });
      return formatExcerpt(await readExcerpt(client.commands, command, stream, CHARS.default, signal));
    },
  },
  {
    name: 'snapshot',
    title: 'A snapshot',
    uri: 'mayfly://snapshots/{id}',
    mimeType: JSON_TYPE,
    read: async (client, id, signal) => json(await client.snapshots.get(id('id'), { signal })),
  },
  {
    name: 'diff',
    title: 'What changed from one snapshot to another, or to "current"',
    uri: 'mayfly://snapshots/{from}/diff/{to}',
    mimeType: JSON_TYPE,
    read: async (client, id, signal) =>
      json(await client.snapshots.diff.list(id('from'), id('to'), { limit: ENTRIES, signal })),
  },
];

/** Registers resources: living sandboxes are listed, others are read by id. */
export function registerResources(server: McpServer, client: MayflyClient): void {
  for (const { name, title, uri, mimeType, read } of KINDS) {
    const list = name === 'sandbox' ? () => listed(client) : undefined;
    const template = new ResourceTemplate(uri, { list });
    server.registerResource(name, template, { title, mimeType }, async (url, variables, { mcpReq }) => {
      try {
        const text = await read(client, (part) => partOf(variables, part), mcpReq.signal);
        return { contents: [{ uri: url.href, mimeType, text }] };
      } catch (error) {
        if (error instanceof MayflyApiError && error.status === 404) throw new ResourceNotFoundError(url.href);
        throw error;
      }
    });
  }
}

async function listed(client: MayflyClient) {
  const { items } = await client.listSandboxes({ alive: true, limit: ENTRIES });
  return {
    resources: items.map(({ id, name }) => ({
      uri: `mayfly://sandboxes/${id}`,
      name: name ?? id,
      mimeType: JSON_TYPE,
    })),
  };
}

function partOf(variables: Variables, part: string): string {
  const value = variables[part];
  return typeof value === 'string' ? decodeURIComponent(value) : '';
}

/** Formats a record; text of guests and callers in it is masked like output. */
function json(value: object): string {
  return maskText(boundedJson(value));
}
