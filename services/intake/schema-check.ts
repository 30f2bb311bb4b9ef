import { MayflyError } from '../../model/errors.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { RawJson } from '../../model/events/json/raw-json.ts';
import { getDataText } from '../../model/events/json-pointer.ts';
import type { FunctionVersion } from '../../model/functions/function.ts';
import type { InputSchemas } from '../schema/input-schemas.ts';

/** Version whose schema, if any, the data must fit. */
type SchemaHolder = Pick<FunctionVersion, 'digest' | 'function' | 'spec'>;

/** Errors that do not concern the data: the check may be repeated later. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'too_many_requests',
  'internal',
  'store_unavailable',
  'payload_key_unusable',
]);

/**
 * Checks data against the schema of a version.
 * @param signal cancels a check that has not started
 * @throws MayflyError event_invalid, schema_too_slow, invalid_schema; too_many_requests, internal: not checked
 */
export async function assertFitsSchema(
  schemas: InputSchemas,
  { digest, function: name, spec: { input } }: SchemaHolder,
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
 * Checks as {@link assertFitsSchema} does, with a time limit.
 * @param ms milliseconds
 * @returns false when the check is late or failed to run
 * @throws MayflyError event_invalid, schema_too_slow, invalid_schema
 */
export async function checkWithin(
  ms: number,
  schemas: InputSchemas,
  version: SchemaHolder,
  event: Pick<ReceivedEvent, 'data' | 'json'>,
): Promise<boolean> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  const isLate = new Promise<false>((resolve) => {
    late.signal.addEventListener('abort', () => resolve(false));
  });
  const check = assertFitsSchema(schemas, version, event, late.signal).then(() => true);
  try {
    return await Promise.race([check, isLate]);
  } catch (error) {
    if (isUndecided(error)) return false;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the data, with numbers as they were sent. */
function sentData({ data = null, json }: Pick<ReceivedEvent, 'data' | 'json'>): unknown {
  const hasNumbers = typeof data === 'number' || (typeof data === 'object' && data !== null);
  return hasNumbers ? new RawJson(getDataText({ json })) : data;
}

/** True for an error that does not concern the data: the check may be repeated later. */
export function isUndecided(error: unknown): boolean {
  return error instanceof MayflyError && RETRYABLE_CODES.has(error.code);
}
