import type { Readable } from 'node:stream';

/**
 * A Node stream as the web knows it, read only as fast as it is read. `Readable.toWeb` of Node 20 counts chunks where
 * it should count bytes, and takes in a gigabyte that nobody reads (nodejs/node #46347).
 */
export function webStream(readable: Readable): ReadableStream<Uint8Array> {
  readable.on('error', () => {}); // told by the next read
  const chunks: AsyncIterator<Uint8Array> = readable[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        readable.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}
