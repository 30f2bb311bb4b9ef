import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { withStoreErrors } from './failure.ts';

/**
 * Returns the time by the store's clock, which all processes of an installation share. @throws MayflyError
 * store_unavailable
 */
export async function storeTime({ db }: Connection): Promise<Date> {
  if (!db) throw new MayflyError('store_unavailable', 'The store is not connected.');
  const { localTime } = await withStoreErrors('tell the time', () => db.command({ hello: 1 }));
  if (localTime instanceof Date) return localTime;
  throw new MayflyError('store_unavailable', 'The store does not tell the time.');
}
