/**
 * How the API reaches what runs inside a sandbox or a source: by HTTP, through the relay of the worker on its host.
 * docs/relay.md has the paths. Bodies are streams in both directions; nothing is held in memory as a whole.
 */
export interface Guests {
  /**
   * @param hostId whose relay to ask
   * @param path absolute path with its query, already percent-encoded
   * @returns whatever the relay answered, also when it refused; {@link refusalOf} turns that into an error
   * @throws MayflyError host_unavailable when the relay does not answer; the signal's reason
   */
  request(hostId: string, path: string, init?: GuestRequest): Promise<Response>;
}

export interface GuestRequest {
  method?: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: Uint8Array | ReadableStream<Uint8Array>;
  signal?: AbortSignal;
}
