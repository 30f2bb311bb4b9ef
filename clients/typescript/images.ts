import type { CallOptions } from './http/deadline.ts';
import { MayflyApiError } from './http/problem.ts';
import { Resource } from './http/resource.ts';

/** Sources that are built from Dockerfiles. */
export class Images extends Resource {
  /** Returns when the build has started, or the same build is under way. */
  readonly build = this.send('POST /v1/images');
  /** Newest first. */
  readonly list = this.ask('GET /v1/images');
  readonly get = this.ask('GET /v1/images/{id}');
  /** Returns when Temporal has the request. */
  readonly cancel = this.ask('POST /v1/images/{id}/cancel');
  readonly #context = this.ask('GET /v1/image-contexts/{digest}');

  /**
   * Reports whether a context is stored, and renews its retention. @param digest SHA-256 of the archive, hexadecimal
   */
  async hasContext(digest: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.#context(digest, options);
      return true;
    } catch (error) {
      if (error instanceof MayflyApiError && error.code === 'context_not_found') return false;
      throw error;
    }
  }

  /**
   * Uploads a context that is too large for {@link Images.build}: a tar archive of at most 2 GiB. Not retried, since it
   * is a stream.
   */
  async sendContext(digest: string, archive: ReadableStream<Uint8Array>, options: CallOptions = {}): Promise<void> {
    const headers = { 'content-type': 'application/x-tar' };
    const path = `/v1/image-contexts/${encodeURIComponent(digest)}`;
    await this.transport.jsonOnce({ method: 'PUT', path, headers, stream: archive }, options);
  }
}
