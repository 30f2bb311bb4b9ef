import { completable, createRequestStateCodec, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Caller } from '../../../mcp/lib/call.ts';
import { embedded, PNG, png, text } from './fixture-contents.ts';
import { registerFixtureInputs } from './fixture-inputs.ts';
import { registerFixtureTasks } from './fixture-tasks.ts';
import { registerFixtureTools } from './fixture-tools.ts';

const codec = createRequestStateCodec<string>({ key: 'a key of the conformance suite alone' });

/** Creates a server with the tools, resources and prompts that `@modelcontextprotocol/conformance` expects. */
export function createFixtureServer({ session }: Caller): McpServer {
  const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } };
  const requestState = {
    verify: (state: string, context: Parameters<typeof codec.verify>[1]) => codec.verify(state, context),
  };
  const server = new McpServer({ name: 'fixture', version: '0' }, { capabilities, requestState });
  registerFixtureTools(server);
  registerFixtureInputs(server, codec);
  if (session === null) registerFixtureTasks(server);
  registerResources(server);
  registerPrompts(server);
  return server;
}

function registerResources(server: McpServer): void {
  const described = (mimeType: string) => ({ description: 'of the suite', mimeType });
  server.registerResource('static-text', 'test://static-text', described('text/plain'), ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }));
  server.registerResource('static-binary', 'test://static-binary', described('image/png'), ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }));
  server.registerResource('watched', 'test://watched-resource', described('text/plain'), ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'watched' }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, described('application/json'), ({ href: uri }, { id }) => {
    const data = { id, templateTest: true, data: `Data for ID: ${String(id)}` };
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }] };
  });
  const watched = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    watched.add(uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    watched.delete(uri);
    return {};
  });
}

function registerPrompts(server: McpServer): void {
  const user = <T>(content: T) => ({ role: 'user' as const, content });
  server.registerPrompt('test_simple_prompt', { description: 'simple' }, () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }));
  const suggestions = () => ['paris', 'park', 'party'];
  const argsSchema = z.object({ arg1: completable(z.string(), suggestions), arg2: z.string() });
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'with arguments', argsSchema },
    ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  );
  const uriSchema = z.object({ resourceUri: z.string() });
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'embeds', argsSchema: uriSchema },
    ({ resourceUri }) => ({
      messages: [
        user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'with an image' }, () => ({
    messages: [user(png()), user(text('Please analyze the image above.'))],
  }));
}
