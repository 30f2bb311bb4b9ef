import mongoose from 'mongoose';
import { MayflyError } from '../../model/errors.ts';

/** Time for a server to accept a connection, and default time for a call to wait for one, ms. */
const ABSENCE_MS = 3_000;
/** Time for which a server may be silent on an open connection, ms. */
const SILENCE_MS = 10_000;
const DEFAULT_DATABASE = 'mayfly';

/** Connects without changing the store. @throws MayflyError store_unavailable */
export async function openConnection(uri: string, absenceMs = ABSENCE_MS): Promise<mongoose.Connection> {
  const connection = mongoose.createConnection(uri, {
    ...(!namesDatabase(uri) && { dbName: DEFAULT_DATABASE }),
    serverSelectionTimeoutMS: absenceMs,
    connectTimeoutMS: ABSENCE_MS,
    socketTimeoutMS: SILENCE_MS,
    writeConcern: { w: 'majority' },
    autoIndex: false,
    autoCreate: false,
    bufferCommands: false,
  });
  try {
    return await connection.asPromise();
  } catch (error) {
    await connection.close();
    // The address may hold a password, so it is not repeated.
    throw new MayflyError('store_unavailable', 'No connection to the store that MONGODB_URI names.', { cause: error });
  }
}

function namesDatabase(uri: string): boolean {
  return /^mongodb(?:\+srv)?:\/\/[^/]+\/[^?]+/.test(uri);
}
