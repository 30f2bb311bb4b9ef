import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { ShutdownWatchdog, STOP_MS } from '../../worker/stop-watch.ts';

const TIMES = { say: 20, leave: 60_000, end: 40 };

function watched(signal: AbortSignal): { watch: ShutdownWatchdog; said: string[]; ended: Promise<void> } {
  const said: string[] = [];
  let watch: ShutdownWatchdog | undefined;
  const ended = new Promise<void>((end) => {
    watch = new ShutdownWatchdog({ signal, say: (line) => said.push(line), end, leave: () => {}, times: TIMES });
  });
  if (!watch) throw new Error('a promise runs its executor at once');
  return { watch, said, ended };
}

test('parts that do not close are named, and the process is ended', async () => {
  const { watch, said, ended } = watched(new AbortController().signal);
  const closed: string[] = [];
  watch.closers.add('store', async () => void closed.push('store'));
  watch.closers.add('host worker', () => new Promise(() => {}));
  watch.closers.add('API', async () => void closed.push('API'));
  void watch.closers.close();
  await ended;
  expect(closed).toEqual(['API']);
  expect(said).toEqual([
    expect.stringContaining('still open after 0.02 s: host worker, store; Node waits for '),
    expect.stringContaining('ended after 0.04 s, although still open: host worker, store; Node waits for '),
  ]);
});

test('the handle that keeps Node alive is named after every part is closed', async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => void socket.resume().on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const { watch, said, ended } = watched(new AbortController().signal);
  socket.end();
  await watch.closers.close();
  await ended;
  socket.destroy();
  server.close();
  expect(said[1]).toMatch(/still open: none of its parts; Node waits for .*TCPSocketWrap/);
});

test('an abort starts it, also during a start', async () => {
  const stop = new AbortController();
  const { watch, said, ended } = watched(stop.signal);
  watch.closers.add('Temporal server', async () => {});
  stop.abort();
  await ended;
  expect(said[0]).toContain('Temporal server');
  const late = watched(stop.signal);
  await late.ended;
});

test('a running step gets less time than the whole, so that later parts can still be closed', () => {
  expect(STOP_MS.grace).toBeLessThan(STOP_MS.say);
  expect(STOP_MS.say).toBeLessThan(STOP_MS.end);
});
