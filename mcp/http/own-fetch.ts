/** Returns `fetch` of routes of this process: no request leaves it, and who aborts one is answered as by the network. */
export function ownFetch(app: { fetch: (request: Request) => Response | Promise<Response> }): typeof fetch {
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
