import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<string>();

/** As it goes over HTTP, to the API and from there to a relay. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** Letters, digits, `-`, `_` and `=`, at most 255: what does no harm in a log, a header and a page. */
export function isRequestId(text: unknown): text is string {
  return typeof text === 'string' && /^[\w=-]{1,255}$/.test(text);
}

/** What runs on behalf of a request; undefined: of none, or nobody knows which. */
export function onBehalfOf<T>(requestId: string | undefined, run: () => T): T {
  return requestId === undefined ? run() : storage.run(requestId, run);
}

/** The request on whose behalf this runs. */
export function currentRequestId(): string | undefined {
  return storage.getStore();
}
