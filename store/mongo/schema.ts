import type { SchemaDefinition } from 'mongoose';
import mongoose from 'mongoose';
import type { Replacement } from '../../model/fields.ts';

/**
 * Creates a schema with common rules: unknown fields are errors, in documents and in filters; nothing is created,
 * indexed or buffered implicitly; `_id` is ours and no version key is added.
 */
export function strictSchema<T>(definition: SchemaDefinition): mongoose.Schema<T> {
  return new mongoose.Schema<T>(definition as SchemaDefinition<T>, {
    strict: 'throw',
    strictQuery: 'throw',
    autoIndex: false,
    autoCreate: false,
    bufferCommands: false,
    versionKey: false,
    id: false,
    minimize: false,
  });
}

/** Creates the schema of a subdocument, under the same rules. */
export function strictPart(definition: SchemaDefinition): mongoose.Schema {
  return new mongoose.Schema(definition, { strict: 'throw', _id: false, id: false, minimize: false });
}

/** Non-empty string (mongoose's `required` takes the empty string for absent). */
export const NAME = { type: String, required: true } as const;
/** Any string, also an empty one. */
export const TEXT = { type: String } as const;

/** Returns the encrypted fields of a schema by their paths, with the substitute of each for an unreadable value. */
export function encryptedFields(schema: mongoose.Schema): Map<string, Replacement | null> {
  const found = new Map<string, Replacement | null>();
  schema.eachPath((path, { options, schema: part }) => {
    if (options['encrypted']) found.set(path, typeof options['encrypted'] === 'function' ? options['encrypted'] : null);
    for (const [below, standIn] of part ? encryptedFields(part) : []) found.set(`${path}.${below}`, standIn);
  });
  return found;
}
