import mongoose from 'mongoose';
import { MayflyError } from '../../model/errors.ts';

/** How long a server may take to accept a connection, `@default` of how long a call waits for one. Milliseconds. */
const ABSENCE_MS = 3_000;
/** How long a server that holds its connection open may be silent. Milliseconds. */
const SILENCE_MS = 10_000;
const DEFAULT_DATABASE = 'mayfly';

/** Connects, and changes nothing there. @throws MayflyError store_unavailable */
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
