import { MayflyError } from '../../model/errors.ts';
import { exactDataOf } from '../../model/events/json/exact-json.ts';

/** Of the JSON text of a schema. Bytes. */
const MAX_BYTES = 65_536;
/** Objects and arrays in one another. */
const MAX_NESTING = 64;

/**
 * @returns the JSON text of a schema
 * @throws MayflyError invalid_schema of what is too large, too deep, or neither an object nor a boolean
 */
export function schemaText(schema: unknown): string {
  if (isDeeper(schema, MAX_NESTING)) throw refused(`is nested deeper than ${MAX_NESTING} levels`);
  const isSchema = typeof schema === 'boolean' || (typeof schema === 'object' && schema !== null);
  if (!isSchema || Array.isArray(schema)) throw refused('must be an object or a boolean');
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_BYTES) throw refused(`has more than ${MAX_BYTES / 1_024} KiB as JSON`);
  return text;
}

/** Refuses a number that would be another one as a double. @throws MayflyError invalid_schema @param json of a schema */
export function refuseInexact(json: string | undefined): void {
  const inexact = json === undefined ? null : exactDataOf(json);
  if (inexact) throw refused(`has the number ${inexact.first.slice(0, 100)}, which no 64-bit floating-point number is`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function refused(problem: string): MayflyError {
  return new MayflyError('invalid_schema', `The schema ${problem}.`, { fields: [{ field: '', problem }] });
}
