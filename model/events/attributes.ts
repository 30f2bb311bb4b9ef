import { type AttributeValue, type EventAttributes, type EventProblem, invalidEvent } from './cloud-event.ts';
import { parseMediaType } from './media-type.ts';
import { isTimestamp } from './timestamp.ts';
import { isAbsoluteUri, isUriReference } from './uri.ts';

const REQUIRED = ['specversion', 'id', 'source', 'type'] as const;
const OPTIONAL = ['time', 'subject', 'dataschema', 'datacontenttype'] as const;

/** Limits in characters for attributes with their own limit. */
const MOST_CHARACTERS: Partial<Record<string, number>> = { id: 256, source: 1_024, type: 256, subject: 1_024 };
/** Names and values of all attributes together, UTF-8 bytes. */
const MOST_BYTES = 16_384;

/** Grammar of names; the specification recommends at most 20 characters and sets no limit. */
const NAME = /^[a-z0-9]{1,64}$/;
/** Name that the specification forbids for attributes. */
const RESERVED_NAME = 'data';
/** Control characters, lone surrogates and noncharacters. */
const DISALLOWED = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;
const INT32 = { min: -2_147_483_648, max: 2_147_483_647 };

/** Additional requirements of core attributes, which are non-empty strings. */
const SYNTAX: Record<string, { holds: (text: string) => boolean; problem: string }> = {
  specversion: { holds: (text) => text === '1.0', problem: 'is not 1.0' },
  source: { holds: isUriReference, problem: 'is no URI-reference (RFC 3986)' },
  time: { holds: isTimestamp, problem: 'is no time of RFC 3339' },
  dataschema: { holds: isAbsoluteUri, problem: 'is no absolute URI (RFC 3986)' },
  datacontenttype: { holds: (text) => parseMediaType(text) !== undefined, problem: 'is no media type (RFC 2046)' },
};

const encoder = new TextEncoder();

/**
 * Validates attributes.
 * @param given names and values as sent, each name once; null: absent
 * @throws MayflyError invalid_event with all problems
 */
export function readAttributes(given: readonly (readonly [string, unknown])[]): EventAttributes {
  checkSize(given);
  const values = new Map(given.filter(([, value]) => value !== null));
  const missing = REQUIRED.filter((name) => !values.has(name)).map((name) => ({ field: name, problem: 'is missing' }));
  const problems = [...missing, ...given.flatMap(([name, value]) => problemsOf(name, value))];
  if (problems.length > 0) throw invalidEvent(problems);

  const text = (name: string) => String(values.get(name));
  const optional: Partial<Record<(typeof OPTIONAL)[number], string>> = {};
  for (const name of OPTIONAL.filter((each) => values.has(each))) optional[name] = text(name);
  const extensions: Record<string, AttributeValue> = {};
  for (const [name, value] of values) if (!isCore(name) && isAttributeValue(value)) extensions[name] = value;
  const required = { specversion: '1.0', id: text('id'), source: text('source'), type: text('type') } as const;
  return { ...required, ...optional, extensions };
}

/** Checks the total size; stops at the first excess, since a body can hold any number of attributes. */
function checkSize(given: readonly (readonly [string, unknown])[]): void {
  let bytes = 0;
  for (const [name, value] of given) {
    bytes += bytesOf(name) + bytesOf(value);
    if (bytes <= MOST_BYTES) continue;
    throw invalidEvent([{ field: 'attributes', problem: `have more than ${MOST_BYTES} bytes together` }]);
  }
}

function problemsOf(name: string, value: unknown): EventProblem[] {
  const problem = nameProblem(name) ?? (value === null ? undefined : valueProblem(name, value));
  return problem === undefined ? [] : [{ field: name, problem }];
}

function nameProblem(name: string): string | undefined {
  if (NAME.test(name) && name !== RESERVED_NAME) return undefined;
  return 'is no name of an attribute: 1 to 64 of a-z and 0-9, and not data';
}

function valueProblem(name: string, value: unknown): string | undefined {
  if (typeof value === 'string' && DISALLOWED.test(value)) return 'has a control, a surrogate or a noncharacter';
  if (!isCore(name)) return isAttributeValue(value) ? undefined : 'is no string, no boolean and no integer of 32 bits';
  if (typeof value !== 'string') return 'is no string';
  if (value === '') return 'is empty';
  const most = MOST_CHARACTERS[name];
  if (most !== undefined && Array.from(value).length > most) return `has more than ${most} characters`;
  const syntax = SYNTAX[name];
  return syntax && !syntax.holds(value) ? syntax.problem : undefined;
}

function isCore(name: string): boolean {
  return [...REQUIRED, ...OPTIONAL].some((core) => core === name);
}

function isAttributeValue(value: unknown): value is AttributeValue {
  if (typeof value === 'number') return Number.isInteger(value) && value >= INT32.min && value <= INT32.max;
  return typeof value === 'string' || typeof value === 'boolean';
}

function bytesOf(value: unknown): number {
  return isAttributeValue(value) ? encoder.encode(String(value)).length : 0;
}
