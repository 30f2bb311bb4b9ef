import { MayflyError } from '../../model/errors.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { RawJson } from '../../model/events/json/raw-json.ts';
import { dataText } from '../../model/events/json-pointer.ts';
import type { FunctionVersion } from '../../model/functions/function.ts';
import type { InputSchemas } from '../schema/input-schemas.ts';

/** What data is held to: the schema of a version, if it has one. */
type HeldTo = Pick<FunctionVersion, 'digest' | 'function' | 'spec'>;

/** They say nothing of the data: it may be checked later. */
const PASSING: ReadonlySet<string> = new Set([
  'too_many_requests',
  'internal',
  'store_unavailable',
  'payload_key_unusable',
]);

/**
 * @param signal when it fires the check is not begun any more
 * @throws MayflyError event_invalid, schema_too_slow, invalid_schema; too_many_requests, internal: it was not checked
 */
export async function refuseUnlessFits(
  schemas: InputSchemas,
  { digest, function: name, spec: { input } }: HeldTo,
  event: Pick<ReceivedEvent, 'data' | 'json'>,
  signal?: AbortSignal,
): Promise<void> {
  if (input.schema === null) return;
  const problems = await schemas.problemsOf(digest, input.schema, sentData(event), signal);
  if (problems.length === 0) return;
  const fields = problems.map(({ field, problem }) => ({ field: `data${field}`, problem }));
  throw new MayflyError('event_invalid', `Its data does not fit the schema of ${name}.`, { fields });
}

/**
 * As {@link refuseUnlessFits}, but nobody waits longer than that.
 * @param ms milliseconds
 * @returns false: it was not checked by then, or nobody could
 * @throws MayflyError event_invalid, schema_too_slow, invalid_schema
 */
export async function isCheckedWithin(
  ms: number,
  schemas: InputSchemas,
  version: HeldTo,
  event: Pick<ReceivedEvent, 'data' | 'json'>,
): Promise<boolean> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  const isLate = new Promise<false>((resolve) => {
    late.signal.addEventListener('abort', () => resolve(false));
  });
  const check = refuseUnlessFits(schemas, version, event, late.signal).then(() => true);
  try {
    return await Promise.race([check, isLate]);
  } catch (error) {
    if (isPassing(error)) return false;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns data with the numbers that were sent, where it can have any. */
function sentData({ data = null, json }: Pick<ReceivedEvent, 'data' | 'json'>): unknown {
  const hasNumbers = typeof data === 'number' || (typeof data === 'object' && data !== null);
  return hasNumbers ? new RawJson(dataText({ json })) : data;
}

/** Whether it says that data could not be checked now, and nothing of the data. */
export function isPassing(error: unknown): boolean {
  return error instanceof MayflyError && PASSING.has(error.code);
}
