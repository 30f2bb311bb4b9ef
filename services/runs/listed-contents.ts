import { canonicalNumber } from '../../model/events/json/exact-json.ts';
import { utf8Text } from '../../model/events/json/json-text.ts';
import { RawJson } from '../../model/events/json/raw-json.ts';
import { textAt } from '../../model/events/json-pointer.ts';
import { isJson, isUtf8, parseMediaType } from '../../model/events/media-type.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** What a list has of a run: the data of its event, and its result. Null: none that is JSON or text, and short. */
interface ListedContents {
  input: RawJson | null;
  result: RawJson | null;
}

const { listedBytes } = LIMITS.functions;

export async function listedContents({ store }: Pick<ServiceDeps, 'store'>, run: RunRecord): Promise<ListedContents> {
  const event = run.eventBytes > listedBytes || run.isBatch ? null : await store.runs.event(run);
  const data = event && textAt(utf8Text(event) ?? '', '/data');
  const hasResult = run.result !== null && run.result.bytes <= listedBytes;
  const bytes = hasResult ? await store.runContents.get(run.id, 'result') : null;
  return {
    input: data ? new RawJson(data) : null,
    result: bytes && run.result ? resultOf(bytes, run.result.contentType) : null,
  };
}

/** What a process has left may be no JSON, whatever it is called. */
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
