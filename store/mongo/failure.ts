import mongoose from 'mongoose';
import { MayflyError } from '../../model/errors.ts';

const { MongoBulkWriteError, MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError } =
  mongoose.mongo;

/** The server's code for a second document with the same unique key. */
export const DUPLICATE_KEY = 11_000;

/**
 * Errors of a server that is reachable but cannot serve now: shutting down, no primary, no disk space. Source:
 * MongoDB's src/mongo/base/error_codes.yml.
 */
const NOT_SERVING = new Set([89, 91, 189, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436, 14_031]);

/** Errors of SQLite (SQLITE_FULL, SQLITE_IOERR), which the embedded store returns under its generic code. */
const NO_DISK = /database or disk is full|disk I\/O error/;

/** Server's code for a missing right (`Unauthorized`). */
const UNAUTHORIZED = 13;

/** Driver errors that mean "no connection" but share no base class. */
const NOT_CONNECTED = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoWaitQueueTimeoutError',
  'MongoOperationTimeoutError',
]);

/** Errors of the operating system for a connection, before the driver notices the loss. */
const BROKEN_SOCKET = new Set(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT']);

/** Reports whether a unique insert lost against an earlier one. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/** Reports whether the server's user lacks the right to an operation. */
export function isForbidden(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === UNAUTHORIZED;
}

/**
 * Returns the refused documents of an unordered insert with the reasons, by their position. Null: it failed as a whole,
 * and the extent of the write is unknown. The driver also wraps a lost connection in its error for bulk writes, without
 * refusals.
 */
export function getWriteErrors(error: unknown): Map<number, mongoose.mongo.WriteError> | null {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) return null;
  const refused = [error.writeErrors].flat();
  return refused.length === 0 ? null : new Map(refused.map((refusal) => [refusal.index, refusal]));
}

/** Runs one call to the server outside a model. @throws MayflyError store_unavailable */
export async function withStoreErrors<T>(what: string, call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toStoreError(what, error);
  }
}

/** Returns `store_unavailable` for the driver's dozen classes of an absent server, and any other error as it is. */
export function toStoreError(what: string, error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  const options = { cause: error, retryAfterSeconds: 2 };
  return new MayflyError('store_unavailable', `The store did not answer to ${what}.`, options);
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  if (error instanceof MongoServerError && NO_DISK.test(error.message)) return true;
  if (error instanceof MongoBulkWriteError && error.code === undefined) return getWriteErrors(error) === null;
  if (error instanceof MongoServerError) return typeof error.code === 'number' && NOT_SERVING.has(error.code);
  if (error instanceof MongoError) return NOT_CONNECTED.has(error.name);
  if (error instanceof Error && 'code' in error && BROKEN_SOCKET.has(String(error.code))) return true;
  // With bufferCommands off, mongoose itself refuses a call made while the connection is down.
  return error instanceof mongoose.MongooseError && /initial connection|MongoClient|disconnected/i.test(error.message);
}
