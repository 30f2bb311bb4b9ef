import { canonicalizeNumber } from '../../model/events/json/exact-json.ts';
import { utf8Text } from '../../model/events/json/json-text.ts';
import { RawJson } from '../../model/events/json/raw-json.ts';
import { resolvePointerText } from '../../model/events/json-pointer.ts';
import { isJson, isUtf8, parseMediaType } from '../../model/events/media-type.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Data of a run's event and its result, in a list. Null unless JSON or text, and short. */
interface ListedContents {
  input: RawJson | null;
  result: RawJson | null;
}

const { listedBytes } = LIMITS.functions;

export async function readListedContents(
  { store }: Pick<ServiceDeps, 'store'>,
  run: RunRecord,
): Promise<ListedContents> {
  const event = run.eventBytes > listedBytes || run.isBatch ? null : await store.runs.event(run);
  const data = event && resolvePointerText(utf8Text(event) ?? '', '/data');
  const hasResult = run.result !== null && run.result.bytes <= listedBytes;
  const bytes = hasResult ? await store.runContents.get(run.id, 'result') : null;
  return {
    input: data ? new RawJson(data) : null,
    result: bytes && run.result ? resultOf(bytes, run.result.contentType) : null,
  };
}

/** Returns a result as JSON; null when it is not of its content type, since a process may write anything. */
function resultOf(bytes: Uint8Array, contentType: string): RawJson | null {
  const mediaType = parseMediaType(contentType);
  const text = utf8Text(bytes);
  if (!mediaType || text === undefined || !isUtf8(mediaType)) return null;
  if (mediaType.type === 'text') return new RawJson(JSON.stringify(text));
  if (!isJson(mediaType)) return null;
  try {
    JSON.parse(text);
    return new RawJson(text);
  } catch {
    return null;
  }
}

/**
 * Returns the concurrency keys, as JSON, that a text may mean: `7` is a text and a number.
 * @returns one or two of them
 */
export function parseKey(text: string): string[] {
  const asText = JSON.stringify(text);
  const value = parseJson(text);
  if (typeof value === 'number') return [asText, canonicalizeNumber(text.trim())];
  const isScalar = value !== undefined && (typeof value !== 'object' || value === null);
  return isScalar ? [asText, JSON.stringify(value)] : [asText];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
