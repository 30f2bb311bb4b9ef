import { MayflyConnectionError } from './api-error.ts';
import type { Transport } from './transport.ts';

/**
 * All bytes of an open answer.
 * @throws MayflyConnectionError when they break off, and the signal's reason
 */
export async function bytesOf(
  response: Response,
  { baseUrl }: Pick<Transport, 'baseUrl'>,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    signal?.throwIfAborted();
    throw new MayflyConnectionError(baseUrl, error);
  }
}
