/** Where undici, which is Node's fetch, keeps what sends its requests: a pool, or a proxy that the process has chosen. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * For the request of an upload, which may take any time. undici waits 300 s for the head of an answer (its
 * `headersTimeout` default), counts from the beginning of the request, and gives up a body that is taken slowly.
 * Nothing where fetch is not undici's.
 */
export function unhurried(): Pick<RequestInit, 'dispatcher'> {
  void globalThis.Headers; // undici is loaded by the first use of it
  const dispatcher: unknown = Reflect.get(globalThis, DISPATCHER);
  if (!isDispatcher(dispatcher)) return {};
  return {
    dispatcher: dispatcher.compose((dispatch) => (options, handler) => {
      return dispatch({ ...options, headersTimeout: 0 }, handler);
    }),
  };
}

function isDispatcher(value: unknown): value is NonNullable<RequestInit['dispatcher']> {
  return typeof value === 'object' && value !== null && 'compose' in value && typeof value.compose === 'function';
}
