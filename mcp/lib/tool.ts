import { isInputRequiredResult, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import { Call, type Caller, LONGEST_WAIT } from './call.ts';
import { withLeave } from './elicit.ts';
import { errorText } from './error-text.ts';
import { createdTask, type WorkingTask } from './task.ts';

/** What a tool answers: the same for people and models, and for programs. */
export interface Answer<T> {
  text: string;
  data: T;
  /** A picture that goes with it, as a PNG file. */
  png?: Uint8Array;
  /** What goes on when it was not waited for to the end. */
  task?: WorkingTask;
}

/** What a call does to what there is. */
type Effect = 'reads' | 'adds' | 'destroys';

interface Tool<Input extends z.ZodObject, Output extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  output: Output;
  effect: Effect;
  /** Whether a second call with the same arguments changes nothing more. `@default` of what only reads */
  isIdempotent?: boolean;
  /** Whether programs of a guest decide what becomes of it. */
  isOpen?: boolean;
  run(call: Call, args: z.output<Input>): Promise<Answer<z.input<Output>>>;
}

/** Adds a tool to a server. */
export type Registration = (server: McpServer, caller: Caller, prefix: string) => void;

export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(made: Tool<Input, Output>): Registration {
  const { name, title, description, input, output, effect, isIdempotent = effect === 'reads', isOpen = false } = made;
  // What is as the protocol takes it to be is not said.
  const annotations = {
    ...(effect === 'reads' && { readOnlyHint: true }),
    ...(effect === 'adds' && { destructiveHint: false }),
    ...(effect !== 'reads' && isIdempotent && { idempotentHint: true }),
    ...(!isOpen && { openWorldHint: false }),
  };
  // An argument that counts for nothing would be taken for one that holds, such as how long a sandbox lives.
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
          const answer = await withLeave(call, context, shown, () => made.run(call, args));
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

/** @throws what no caller can do anything about */
export function resultOfError(error: unknown, prefix: string) {
  return { content: [{ type: 'text', text: errorText(error, prefix) }], isError: true };
}

/** Which sandbox, in every tool that has one, by its id or name. */
export const SANDBOX = z.string();

/** The same key: done once. */
export const IDEMPOTENCY_KEY = z.string().max(LIMITS.idempotencyKey.maxLength).optional();

export const WAIT_SECONDS = z.int().min(0).max(LONGEST_WAIT.heard).default(30);

export const CURSOR = z.string().max(1_024).optional().describe('nextCursor of the page before');

/** What stands below a page that is not the last. */
export function moreLines(nextCursor: string | null): string[] {
  return nextCursor === null ? [] : [`[more with cursor ${nextCursor}]`];
}

/** Without what was left out: the API takes no `undefined`. */
export function defined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

type Members = Record<string, unknown>;

/** Bounds that nobody plans by; who passes one is told. */
const UNTOLD = new Set(['$schema', 'minLength', 'maxLength', 'minItems', 'maxItems']);

/** Without what says little: the dialect that is meant anyway, lengths, bounds of what is counted, and of what JavaScript counts. */
function compacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compacted);
  if (typeof value !== 'object' || value === null) return value;
  // Who has a default rarely plans by the bounds beside it.
  const isBounded = typeof (value as Members)['default'] === 'number';
  const kept = Object.entries(value as Members).filter(
    ([name, member]) => isTold(name, member) && !(isBounded && (name === 'minimum' || name === 'maximum')),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, compacted(member)]));
}

function isTold(name: string, member: unknown): boolean {
  if (UNTOLD.has(name)) return false;
  if (name === 'additionalProperties') return member !== false;
  if (name === 'propertyNames') return JSON.stringify(member) !== '{"type":"string"}';
  if (name === 'minimum') return member !== 0 && member !== 1 && member !== Number.MIN_SAFE_INTEGER;
  return name !== 'maximum' || member !== Number.MAX_SAFE_INTEGER;
}

/** What an answer has is all there, so which of it is needs no second list; a property of that name keeps its place. */
function allThere(value: unknown, isTyped: boolean, isProperties = false): unknown {
  if (Array.isArray(value)) return value.map((each) => allThere(each, isTyped));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value as Members).filter(
    ([name, member]) => isProperties || !(name === 'required' || (name === 'type' && !isTyped && isScalar(member))),
  );
  return Object.fromEntries(
    kept.map(([name, member]) => [name, allThere(member, isTyped, !isProperties && name === 'properties')]),
  );
}

function isScalar(type: unknown): boolean {
  return [type].flat().every((each) => each !== 'object' && each !== 'array');
}

/**
 * The same schema, which tells clients less: all tools together have to find room in what a model reads.
 * @param isTyped whether texts and numbers that come out are told apart. `@default` true
 */
export function compact<T extends z.ZodObject>(schema: T, isTyped = true): T {
  const standard = schema['~standard'];
  const { input, output } = standard.jsonSchema;
  const jsonSchema = {
    input: (options: Parameters<typeof input>[0]) => compacted(input(options)) as ReturnType<typeof input>,
    output: (options: Parameters<typeof output>[0]) =>
      allThere(compacted(output(options)), isTyped) as ReturnType<typeof output>,
  };
  return Object.create(schema, { '~standard': { value: { ...standard, jsonSchema } } }) as T;
}
