import { canonicalNumber } from '../../model/events/json/exact-json.ts';

/**
 * The values of concurrency keys, as JSON, that a person may mean by a text: `7` is the text and the number.
 * @returns one or two of them
 */
export function keysNamed(text: string): string[] {
  const asText = JSON.stringify(text);
  const value = parsed(text);
  if (typeof value === 'number') return [asText, canonicalNumber(text.trim())];
  const isScalar = value !== undefined && (typeof value !== 'object' || value === null);
  return isScalar ? [asText, JSON.stringify(value)] : [asText];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
