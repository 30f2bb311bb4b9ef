import type { App } from '../http/context.ts';

/** `fetch` of the API's own routes: no request leaves the process, and who aborts one is answered as by the network. */
export function ownFetch(app: App): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    signal.throwIfAborted();
    const response = await app.fetch(request);
    signal.throwIfAborted();
    return response.body
      ? new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
      : response;
  };
}
