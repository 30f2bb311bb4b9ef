import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { MayflyClient } from '../../../../clients/typescript/mayfly-client.ts';
import { ID } from '../../../clients/typescript/records.ts';

/** Time for which the server keeps an idle connection, ms. */
const IDLE_MS = 3_000;
/** Server in a thread of its own, which runs while the test blocks. */
const ANSWERS = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:http').createServer((request, response) => {
    request.on('end', () => response.end('{"ok":true}')).resume();
  });
  server.keepAliveTimeout = workerData;
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

/** Makes a stream larger than the buffers of a connection. */
function streamOf(pieces: number): ReadableStream<Uint8Array> {
  let left = pieces;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(65_536));
      else controller.close();
    },
  });
}

test('an upload does not start on a connection that was closed while the process was busy', async () => {
  const elsewhere = new Worker(ANSWERS, { eval: true, workerData: IDLE_MS });
  onTestFinished(async () => void (await elsewhere.terminate()));
  const [port] = await once(elsewhere, 'message');
  const client = new MayflyClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'k' });
  await client.getSandbox(ID);
  for (let n = 0; n < 2; n++) await turn(); // undici reuses a connection a turn of the event loop later
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, IDLE_MS * 1.5);
  await expect(client.files.write(ID, '/tmp/small', streamOf(50))).resolves.toEqual({ ok: true });
});
