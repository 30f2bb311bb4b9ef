import type { Connection, Model, Schema } from 'mongoose';
import { toStoreError } from './failure.ts';

const OPERATIONS = /^(aggregate|bulkWrite|delete|find|insertMany|replace|save|update)/;

/**
 * Creates the model of a collection, whose operations fail with `store_unavailable` when the store does not answer. A
 * repeated call returns the same model.
 */
export function modelOf<D>(connection: Connection, collection: string, schema: Schema<D>): Model<D> {
  const present = connection.models[collection];
  if (present) return present as Model<D>;
  schema.post(OPERATIONS, { errorHandler: true }, (error: unknown) => {
    throw toStoreError(`use the collection ${collection}`, error);
  });
  return connection.model<D>(collection, schema, collection);
}
