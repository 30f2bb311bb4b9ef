import type { Readable } from 'node:stream';

/**
 * Converts a Node stream to a web stream without read-ahead. `Readable.toWeb` of Node 20 counts chunks instead of
 * bytes, and buffers a gigabyte without a reader (nodejs/node #46347).
 */
export function webStream(readable: Readable): ReadableStream<Uint8Array> {
  readable.on('error', () => {}); // the next read throws it
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
