import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CertClient } from '../../../host/ssh/cert-client.ts';

/** Server like a paused, saved or lost guest: it accepts data, and never ends a connection. */
let silent: Server;
const accepted: Socket[] = [];

beforeEach(async () => {
  silent = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket.resume().on('error', () => {}));
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});
afterEach(async () => {
  for (const socket of accepted.splice(0)) socket.destroy();
  silent.close();
  await once(silent, 'close');
});

async function connected(): Promise<{ client: CertClient; socket: Socket }> {
  const { port } = silent.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  const client = new CertClient().connect({ sock: socket, username: 'nobody', readyTimeout: 0 });
  client.on('error', () => {});
  return { client, socket };
}

test('an ended connection is closed, although the peer never ends it', async () => {
  const { client, socket } = await connected();
  const closed = once(socket, 'close');
  client.end();
  await closed;
  expect(socket.destroyed).toBe(true);
});

test("a connection that awaits the peer's end is closed at once by destroy", async () => {
  const { client, socket } = await connected();
  client.end();
  client.destroy();
  expect(socket.destroyed).toBe(true);
  await once(socket, 'close');
});

test('the peer is notified of an end, and awaited', async () => {
  const { client, socket } = await connected();
  client.end();
  expect(socket.destroyed).toBe(false);
  const [theirs] = accepted;
  if (!theirs) throw new Error('nobody was accepted');
  await once(theirs, 'end');
  theirs.end();
  await once(socket, 'close');
});
