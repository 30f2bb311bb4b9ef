import { isInputRequiredResult, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import { Call, type Caller, LONGEST_WAIT } from './call.ts';
import { withApproval } from './elicit.ts';
import { errorText } from './error-text.ts';
import { createdTask, type WorkingTask } from './task.ts';

/** Answer of a tool: the same for people, models and programs. */
export interface Answer<T> {
  text: string;
  data: T;
  /** PNG file that accompanies it. */
  png?: Uint8Array;
  /** Continuing operation, if the wait ended first. */
  task?: WorkingTask;
}

/** Effect of a call on existing things. */
type Effect = 'reads' | 'adds' | 'destroys';

interface Tool<Input extends z.ZodObject, Output extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  output: Output;
  effect: Effect;
  /** True when a repeat with the same arguments has no further effect. `@default` true for read-only tools */
  isIdempotent?: boolean;
  /** True when programs of a guest decide the result. */
  isOpen?: boolean;
  run(call: Call, args: z.output<Input>): Promise<Answer<z.input<Output>>>;
}

/** Adds a tool to a server. */
export type Registration = (server: McpServer, caller: Caller, prefix: string) => void;

export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(made: Tool<Input, Output>): Registration {
  const { name, title, description, input, output, effect, isIdempotent = effect === 'reads', isOpen = false } = made;
  // Omits hints that equal the protocol's defaults.
  const annotations = {
    ...(effect === 'reads' && { readOnlyHint: true }),
    ...(effect === 'adds' && { destructiveHint: false }),
    ...(effect !== 'reads' && isIdempotent && { idempotentHint: true }),
    ...(!isOpen && { openWorldHint: false }),
  };
  // Refuses unknown arguments: one that is ignored would be believed, such as a sandbox's lifetime.
  const inputSchema = compact(input.strict());
  const config = { title, description, inputSchema, outputSchema: compact(output, false), annotations };
  return (server, caller, prefix) => {
    server.registerTool(
      prefix + name,
      config as never,
      (async (args: z.output<Input>, context: ServerContext) => {
        const call = new Call(caller, context, name, prefix);
        try {
          const shown = { showing: caller.showing, capabilities: server.server.getClientCapabilities() };
          const answer = await withApproval(call, context, shown, () => made.run(call, args));
          if (isInputRequiredResult(answer)) return answer;
          await call.answered();
          const result = resultOf(answer);
          return answer.task && call.knowsTasks ? { ...result, ...createdTask(answer.task) } : result;
        } catch (error) {
          if (call.signal.aborted) await call.undo();
          call.signal.throwIfAborted();
          return resultOfError(error, prefix);
        } finally {
          await call.end();
        }
      }) as never,
    );
  };
}

export function resultOf({ text, data, png }: Answer<object>) {
  const picture = png && { type: 'image', data: Buffer.from(png).toString('base64'), mimeType: 'image/png' };
  return { content: [{ type: 'text', text }, ...(picture ? [picture] : [])], structuredContent: data };
}

/** @throws errors that no caller can fix */
export function resultOfError(error: unknown, prefix: string) {
  return { content: [{ type: 'text', text: errorText(error, prefix) }], isError: true };
}

/** Parameter for a sandbox's id or name, of every tool that has one. */
export const SANDBOX = z.string();

/** Parameter for a key under which a request is done once. */
export const IDEMPOTENCY_KEY = z.string().max(LIMITS.idempotencyKey.maxLength).optional();

export const WAIT_SECONDS = z.int().min(0).max(LONGEST_WAIT.heard).default(30);

export const CURSOR = z.string().max(1_024).optional().describe('nextCursor of the page before');

/** Returns the note below a page that is not the last. */
export function moreLines(nextCursor: string | null): string[] {
  return nextCursor === null ? [] : [`[more with cursor ${nextCursor}]`];
}

/** Drops undefined fields, which the client's types exclude. */
export function omitUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

type Members = Record<string, unknown>;

/** Limits omitted from schemas: no caller plans by them, and an error names an exceeded one. */
const OMITTED_KEYWORDS = new Set(['$schema', 'minLength', 'maxLength', 'minItems', 'maxItems']);

/** Drops less useful members: the default dialect, lengths, and JavaScript's own bounds of numbers. */
function compactSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compactSchema);
  if (typeof value !== 'object' || value === null) return value;
  // Bounds of a parameter with a default are rarely needed.
  const isBounded = typeof (value as Members)['default'] === 'number';
  const kept = Object.entries(value as Members).filter(
    ([name, member]) => isUseful(name, member) && !(isBounded && (name === 'minimum' || name === 'maximum')),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, compactSchema(member)]));
}

function isUseful(name: string, member: unknown): boolean {
  if (OMITTED_KEYWORDS.has(name)) return false;
  if (name === 'additionalProperties') return member !== false;
  if (name === 'propertyNames') return JSON.stringify(member) !== '{"type":"string"}';
  if (name === 'minimum') return member !== 0 && member !== 1 && member !== Number.MIN_SAFE_INTEGER;
  return name !== 'maximum' || member !== Number.MAX_SAFE_INTEGER;
}

/** Drops `required` from a schema of output, where every property is present; a property with that name stays. */
function dropRequired(value: unknown, isTyped: boolean, isProperties = false): unknown {
  if (Array.isArray(value)) return value.map((each) => dropRequired(each, isTyped));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value as Members).filter(
    ([name, member]) => isProperties || !(name === 'required' || (name === 'type' && !isTyped && isScalar(member))),
  );
  return Object.fromEntries(
    kept.map(([name, member]) => [name, dropRequired(member, isTyped, !isProperties && name === 'properties')]),
  );
}

function isScalar(type: unknown): boolean {
  return [type].flat().every((each) => each !== 'object' && each !== 'array');
}

/**
 * Shortens a schema for clients: all tools together must fit into a model's context.
 * @param isTyped keeps the types of output's texts and numbers. `@default` true
 */
export function compact<T extends z.ZodObject>(schema: T, isTyped = true): T {
  const standard = schema['~standard'];
  const { input, output } = standard.jsonSchema;
  const jsonSchema = {
    input: (options: Parameters<typeof input>[0]) => compactSchema(input(options)) as ReturnType<typeof input>,
    output: (options: Parameters<typeof output>[0]) =>
      dropRequired(compactSchema(output(options)), isTyped) as ReturnType<typeof output>,
  };
  return Object.create(schema, { '~standard': { value: { ...standard, jsonSchema } } }) as T;
}
