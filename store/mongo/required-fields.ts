import { MayflyError } from '../../model/errors.ts';

/** Asserts that a document has the fields that access decisions depend on. @throws MayflyError record_damaged */
export function assertFields(collection: string, document: { _id: string }, fields: readonly string[]): void {
  const missing = fields.filter((field) => ((document as Record<string, unknown>)[field] ?? null) === null);
  if (missing.length === 0) return;
  const what = `${document._id} in the collection \`${collection}\` has no ${missing.join(', no ')}`;
  throw new MayflyError('record_damaged', `The store cannot be understood: ${what}.`);
}
