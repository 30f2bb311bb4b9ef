import {
  acceptedContent,
  type InputRequests,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { text } from './fixture-contents.ts';

type Responses = ServerContext['mcpReq']['inputResponses'];

const one = (message: string, field: string, type = 'string') =>
  inputRequired.elicit({
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type } }, required: [field] } as never,
  });
const question = (asked: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: text(asked) }], maxTokens });

/** Registers the tools and the prompt that elicit input from their caller, round by round (2026-07-28). */
export function registerFixtureInputs(server: McpServer, codec: RequestStateCodec<string>): void {
  const tool = (name: string, run: (context: ServerContext, responses: Responses) => Promise<object> | object) =>
    server.registerTool(name, { description: name, inputSchema: z.object({}) }, (async (
      _: object,
      context: ServerContext,
    ) => run(context, context.mcpReq.inputResponses)) as never);
  const done = (said: string) => ({ content: [text(said)] });
  const has = (responses: Responses, key: string) => inputResponse(responses, key).kind !== 'missing';

  tool('test_input_required_result_elicitation', (_, responses) => {
    const name = acceptedContent(responses, 'user_name', z.object({ name: z.string() }))?.name;
    if (name !== undefined) return done(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: one('What is your name?', 'name') } });
  });
  tool('test_input_required_result_sampling', (_, responses) => {
    if (has(responses, 'capital_question')) return done(JSON.stringify(responses?.['capital_question']));
    return inputRequired({ inputRequests: { capital_question: question('What is the capital of France?') } });
  });
  tool('test_input_required_result_list_roots', (_, responses) => {
    if (has(responses, 'client_roots')) return done(JSON.stringify(responses?.['client_roots']));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  tool('test_input_required_result_request_state', async ({ mcpReq }, responses) => {
    if (has(responses, 'confirm') && mcpReq.requestState<string>() === 'confirming') return done('state-ok');
    const inputRequests = { confirm: one('Please confirm', 'ok', 'boolean') };
    return inputRequired({ inputRequests, requestState: await codec.mint('confirming') });
  });
  tool('test_input_required_result_multiple_inputs', async (_, responses) => {
    if (['user_name', 'greeting', 'client_roots'].every((key) => has(responses, key))) return done('all are there');
    const inputRequests: InputRequests = {
      user_name: one('What is your name?', 'name'),
      greeting: question('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await codec.mint('many') });
  });
  tool('test_input_required_result_multi_round', async ({ mcpReq }, responses) => {
    const state = mcpReq.requestState<string>();
    if (state === 'round-2' && has(responses, 'step2')) return done('both rounds are over');
    if (state === 'round-1' && has(responses, 'step1')) {
      const inputRequests = { step2: one('Step 2: What is your favorite color?', 'color') };
      return inputRequired({ inputRequests, requestState: await codec.mint('round-2') });
    }
    const inputRequests = { step1: one('Step 1: What is your name?', 'name') };
    return inputRequired({ inputRequests, requestState: await codec.mint('round-1') });
  });
  tool('test_input_required_result_tampered_state', async (_, responses) => {
    if (has(responses, 'confirm')) return done('state-ok');
    const inputRequests = { confirm: one('Please confirm', 'ok', 'boolean') };
    return inputRequired({ inputRequests, requestState: await codec.mint('untouched') });
  });
  // The client of the first one declares no elicitation, so the SDK refuses.
  tool('test_missing_capability', () =>
    inputRequired({ inputRequests: { greeting: question('Generate a greeting') } }),
  );
  tool('test_streaming_elicitation', () => inputRequired({ inputRequests: { ok: one('Go on?', 'ok', 'boolean') } }));
  tool('test_input_required_result_capabilities', ({ mcpReq }, responses) => {
    const declared = capabilitiesOf(mcpReq);
    if (responses && Object.keys(responses).length > 0) return done('answered');
    const inputRequests: InputRequests = {
      ...('elicitation' in declared && { user_name: one('What is your name?', 'name') }),
      ...('sampling' in declared && { greeting: question('Generate a greeting', 50) }),
    };
    return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : done('nothing can be asked');
  });
  server.registerPrompt('test_input_required_result_prompt', { description: 'asks first' }, (({
    mcpReq,
  }: ServerContext) => {
    const context = acceptedContent(mcpReq.inputResponses, 'user_context', z.object({ context: z.string() }))?.context;
    if (context === undefined) {
      return inputRequired({ inputRequests: { user_context: one('What context should the prompt use?', 'context') } });
    }
    return { messages: [{ role: 'user', content: text(`Context: ${context}`) }] };
  }) as never);
}

function capabilitiesOf({ envelope }: ServerContext['mcpReq']): object {
  const found = (envelope as Record<string, unknown> | undefined)?.['io.modelcontextprotocol/clientCapabilities'];
  return typeof found === 'object' && found !== null ? found : {};
}
