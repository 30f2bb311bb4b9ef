import mongoose from 'mongoose';
import { MayflyError } from '../../model/errors.ts';

const { MongoBulkWriteError, MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError } =
  mongoose.mongo;

/** The server's code for a second document with the same unique key. */
export const DUPLICATE_KEY = 11_000;

/**
 * Answers of a server that is there but cannot serve now: shutting down, no primary, no disk space.
 * Source: MongoDB's src/mongo/base/error_codes.yml.
 */
const NOT_SERVING = new Set([89, 91, 189, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436, 14_031]);

/** The embedded store passes on what SQLite says (SQLITE_FULL, SQLITE_IOERR), under the code of all that it has no code for. */
const NO_DISK = /database or disk is full|disk I\/O error/;

/** The server's code for what its user may not (`Unauthorized`). */
const UNAUTHORIZED = 13;

/** Driver errors that mean "no connection" but share no base class. */
const NOT_CONNECTED = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoWaitQueueTimeoutError',
  'MongoOperationTimeoutError',
]);

/** What the operating system says of a connection before the driver has noticed that it is gone. */
const BROKEN_SOCKET = new Set(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT']);

/** Whether a unique insert lost against an earlier one. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/** Whether the server's user has no right to what was asked. */
export function isForbidden(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === UNAUTHORIZED;
}

/**
 * Which documents of an unordered insert were refused and why, by their place in it. Null: it failed as a whole, and
 * nobody knows what was written. The driver wraps a lost connection in its error for bulk writes too, without any refusal in it.
 */
export function refusalsOf(error: unknown): Map<number, mongoose.mongo.WriteError> | null {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) return null;
  const refused = [error.writeErrors].flat();
  return refused.length === 0 ? null : new Map(refused.map((refusal) => [refusal.index, refusal]));
}

/**
 * Runs one call to the server that is none of a model's.
 * @throws MayflyError store_unavailable
 */
export async function reaching<T>(what: string, call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw storeErrorOf(what, error);
  }
}

/** Returns `store_unavailable` for the driver's dozen classes of an absent server, and any other error as it is. */
export function storeErrorOf(what: string, error: unknown): unknown {
  if (!isAbsence(error)) return error;
  const options = { cause: error, retryAfterSeconds: 2 };
  return new MayflyError('store_unavailable', `The store did not answer to ${what}.`, options);
}

function isAbsence(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  if (error instanceof MongoServerError && NO_DISK.test(error.message)) return true;
  if (error instanceof MongoBulkWriteError && error.code === undefined) return refusalsOf(error) === null;
  if (error instanceof MongoServerError) return typeof error.code === 'number' && NOT_SERVING.has(error.code);
  if (error instanceof MongoError) return NOT_CONNECTED.has(error.name);
  if (error instanceof Error && 'code' in error && BROKEN_SOCKET.has(String(error.code))) return true;
  // With bufferCommands off, mongoose itself refuses a call made while the connection is down.
  return error instanceof mongoose.MongooseError && /initial connection|MongoClient|disconnected/i.test(error.message);
}
