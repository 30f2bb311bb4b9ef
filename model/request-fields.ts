import { z } from 'zod';
import { ID_PATTERNS } from './ids.ts';
import { LIMITS } from './limits.ts';

const { command } = LIMITS;

/** Caller's text that is stored: no control characters (including NUL) and no lone surrogates. */
const PRINTABLE = /^[^\p{Cc}\p{Cs}]*$/u;
/** Equivalent for tools without Unicode classes; UTF-8 cannot carry lone surrogates anyway. */
const PLAIN_PRINTABLE = '[^\\u0000-\\u001f\\u007f-\\u009f]*$';
export const PRINTABLE_SCHEMA = { pattern: `^${PLAIN_PRINTABLE}` };

/** Printable text. @param max Unicode characters, as JSON Schema counts them, not UTF-16 code units */
export function printable(max: number, min = 1) {
  return z
    .string()
    .min(min, `must have at least ${min} character`)
    .refine((text) => text.length <= max || Array.from(text).length <= max, `must have at most ${max} characters`)
    .regex(PRINTABLE, 'must have no control characters and be well-formed Unicode')
    .meta({ ...PRINTABLE_SCHEMA, maxLength: max });
}

export const sourceName = printable(LIMITS.sourceName.maxLength)
  .regex(/^[A-Za-z0-9]/, 'must begin with a letter or digit')
  .meta({ pattern: `^[A-Za-z0-9]${PLAIN_PRINTABLE}` });

/** Text that UTF-8 can encode. */
export const wellFormed = z.string().refine((text) => !/\p{Cs}/u.test(text), 'must be well-formed Unicode');

/** Text passed to a program: well-formed, without NUL, which would end a C argument. */
export function programText(maxBytes: number) {
  return wellFormed
    .refine((text) => !text.includes('\0'), 'must have no NUL character')
    .refine((text) => Buffer.byteLength(text) <= maxBytes, `must have at most ${maxBytes} bytes`)
    .meta({ pattern: '^[^\\u0000]*$', maxLength: maxBytes });
}

const bytesOf = (texts: string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

export const argv = z
  .array(programText(command.maxLength))
  .min(1, 'must name a program')
  .max(command.maxArguments, `must have at most ${command.maxArguments} entries`)
  .refine(([program]) => program !== '', 'must name a program')
  .refine((texts) => bytesOf(texts) <= command.maxLength, `must have at most ${command.maxLength} bytes in all`)
  .meta({ prefixItems: [{ type: 'string', minLength: 1, pattern: '^[^\\u0000]+$' }] });

export const variableName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable');

export const VARIABLES_FIT = `must have at most ${command.maxVariableBytes} bytes in each, with its name and =`;

/** Reports whether Linux can pass each variable to a program. */
export function areVariablesPassable(variables: Readonly<Record<string, string>>): boolean {
  return Object.entries(variables).every(
    ([name, value]) => name.length + 1 + Buffer.byteLength(value) <= command.maxVariableBytes,
  );
}

export function intInRange(limit: { min: number; max: number }, unit: string) {
  const range = `must be a whole number of ${unit} from ${limit.min} to ${limit.max}`;
  return z.int(range).min(limit.min, range).max(limit.max, range);
}

/** Schema of an id. @param noun for the message about an invalid id */
export function idSchema(kind: Exclude<keyof typeof ID_PATTERNS, 'host'>, noun: string = `a ${kind} id`) {
  const [, prefix] = /^\^(\w+-)/.exec(ID_PATTERNS[kind]) ?? [];
  return z
    .string()
    .regex(new RegExp(ID_PATTERNS[kind]), `is not ${noun}`)
    .meta({ example: `${prefix}0123456789abcdef` });
}

export const snapshotId = idSchema('snapshot');
export const captureId = idSchema('capture');
export const endpointId = idSchema('endpoint', 'the id of a webhook endpoint');
export const hostId = z.string().regex(new RegExp(ID_PATTERNS.host), 'is not a host id');
