import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<string>();

/** Header of the request id over HTTP, to the API and from there to a relay. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** Accepts 1 to 255 letters, digits, `-`, `_` and `=`, which are harmless in a log, a header and a page. */
export function isRequestId(text: unknown): text is string {
  return typeof text === 'string' && /^[\w=-]{1,255}$/.test(text);
}

/** Runs a function on behalf of a request; undefined: none, or an unknown one. */
export function runWithRequestId<T>(requestId: string | undefined, run: () => T): T {
  return requestId === undefined ? run() : storage.run(requestId, run);
}

export function currentRequestId(): string | undefined {
  return storage.getStore();
}
