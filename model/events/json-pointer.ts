import { decodeBase64 } from './base64.ts';
import type { ReceivedEvent } from './cloud-event.ts';
import { canonicalizeNumber } from './json/exact-json.ts';
import { utf8Text } from './json/json-text.ts';
import { eachItemText, getMemberText } from './json/member-text.ts';

const INDEX = /^(?:0|[1-9]\d*)$/;

/** Resolves a JSON Pointer (RFC 6901) in a value; undefined: nothing there. @param pointer well-formed */
export function resolvePointer(value: unknown, pointer: string): unknown {
  let at: unknown = value;
  for (const name of tokensOf(pointer)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    if (Array.isArray(at) && !INDEX.test(name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/**
 * Resolves a JSON Pointer to the original text; undefined: nothing there.
 * @param json well-formed
 * @param pointer well-formed
 */
export function resolvePointerText(json: string, pointer: string): string | undefined {
  let at: string | undefined = json.trim();
  for (const name of tokensOf(pointer)) {
    if (at?.startsWith('{')) at = getMemberText(at, name);
    else if (at?.startsWith('[') && INDEX.test(name)) at = [...eachItemText(at)][Number(name)];
    else return undefined;
  }
  return at;
}

/**
 * Returns the canonical JSON text of a scalar at a JSON Pointer into an event's data: equal values have equal texts,
 * and numbers keep their precision. Undefined: nothing there; null: an object or an array.
 */
export function getScalarText(event: Pick<ReceivedEvent, 'data' | 'json'>, pointer: string): string | null | undefined {
  const value = resolvePointer(event.data, pointer);
  if (typeof value === 'number') return canonicalizeNumber(resolvePointerText(getDataText(event), pointer) ?? '');
  return typeof value === 'object' && value !== null ? null : (JSON.stringify(value) as string | undefined);
}

/** Returns the JSON text of an event's data as sent. @param event with JSON data */
export function getDataText({ json }: Pick<ReceivedEvent, 'json'>): string {
  const text = utf8Text(json) ?? '';
  const data = getMemberText(text, 'data');
  if (data !== undefined) return data;
  const base64: unknown = JSON.parse(getMemberText(text, 'data_base64') ?? '""');
  return utf8Text(decodeBase64(String(base64)) ?? new Uint8Array()) ?? '';
}

function tokensOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}
