import { setTimeout as sleep } from 'node:timers/promises';
import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { embedded, png, text, WAV } from './fixture-contents.ts';

const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: {
    type: 'string',
    oneOf: [
      { const: 'value1', title: 'First Option' },
      { const: 'value2', title: 'Second Option' },
      { const: 'value3', title: 'Third Option' },
    ],
  },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: {
    type: 'array',
    items: {
      anyOf: [
        { const: 'value1', title: 'First Choice' },
        { const: 'value2', title: 'Second Choice' },
        { const: 'value3', title: 'Third Choice' },
      ],
    },
  },
};
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

/** Registers the suite's tools without input. */
export function registerFixtureTools(server: McpServer): void {
  const contents = {
    test_simple_text: [text('This is a simple text response for testing.')],
    test_image_content: [png()],
    test_audio_content: [{ type: 'audio' as const, data: WAV, mimeType: 'audio/wav' }],
    test_embedded_resource: [
      embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
    test_multiple_content_types: [
      text('Multiple content types test:'),
      png(),
      embedded('test://mixed-content-resource', 'application/json', JSON.stringify({ test: 'data', value: 123 })),
    ],
  };
  for (const [name, content] of Object.entries(contents)) {
    server.registerTool(name, { description: name, inputSchema: z.object({}) }, () => ({ content }));
  }
  const none = z.object({});
  server.registerTool('test_error_handling', { description: 'fails', inputSchema: none }, () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  }));
  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(name, { description: 'logs', inputSchema: none }, async (_, { mcpReq }) => {
      for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.log('info', said);
        await sleep(50);
      }
      return { content: [text('logged')] };
    });
  }
  server.registerTool(
    'test_tool_with_progress',
    { description: 'goes on', inputSchema: none },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
        }
        await sleep(50);
      }
      return { content: [text('went on')] };
    },
  );
  server.registerTool(
    'test_sampling',
    { description: 'asks a model', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: 'user' as const, content: text(prompt) }];
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
      return { content: [text(`LLM response: ${'text' in content ? content.text : ''}`)] };
    },
  );
  const asks = (name: string, properties: object, required: string[], said: string) =>
    server.registerTool(
      name,
      { description: 'asks', inputSchema: z.object({ message: z.string().default('Please answer') }) },
      async ({ message }, { mcpReq }) => {
        const requestedSchema = { type: 'object' as const, properties, required } as never;
        const { action, content } = await mcpReq.elicitInput({ mode: 'form', message, requestedSchema });
        return { content: [text(`${said}: action=${action}, content=${JSON.stringify(content ?? {})}`)] };
      },
    );
  const person = {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  };
  asks('test_elicitation', person, ['username', 'email'], 'User response');
  asks('test_elicitation_sep1034_defaults', DEFAULTS, [], 'Elicitation completed');
  asks('test_elicitation_sep1330_enums', ENUMS, [], 'Elicitation completed');
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'has all of a schema',
      inputSchema: fromJsonSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
        properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
        additionalProperties: false,
      } as never),
    },
    () => ({ content: [text('called')] }),
  );
}
