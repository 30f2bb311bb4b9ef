// @ts-check
/**
 * Webhook receiver that verifies requests with the published library of Standard Webhooks.
 *
 *     node verifying-receiver.mjs    (first line of output: the port; then first line of standard input: whsec_…)
 *
 * Each request is a line of output: the verified event, or `refused`.
 *
 * @module
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const secret = once(createInterface({ input: process.stdin }), 'line').then(([line]) => String(line));
const server = createServer((request, response) => void answer(request, response));

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function answer(request, response) {
  const body = await text(request);
  try {
    const verified = new Webhook(await secret).verify(body, /** @type {Record<string, string>} */ (request.headers));
    process.stdout.write(`${JSON.stringify(verified)}\n`);
    response.writeHead(204).end();
  } catch {
    process.stdout.write('refused\n');
    response.writeHead(401).end();
  }
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
