import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Ingress } from '../../api/ingress/ingress-server.ts';
import { MayflyClient } from '../../client/mayfly-client.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { RelayClient } from '../../relay/client.ts';
import { McpDoor } from '../mcp/mcp-door.ts';
import { FULL } from '../support/sweep.ts';

/** A program of the guest: `/` says who it is, `/stream` never ends. */
const SERVER = `import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        if self.path == "/stream":
            self.end_headers()
            self.wfile.write(b"guest\\n")
            self.wfile.flush()
            time.sleep(600)
        else:
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"guest")
    def log_message(self, *args): pass
class Server(http.server.ThreadingHTTPServer): request_queue_size = 128
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()`;

let door: McpDoor;
let client: MayflyClient;
let ingress: Ingress;
let guests: RelayClient;

beforeAll(async () => {
  door = await McpDoor.open();
  const { store, sagas } = door.mayfly;
  guests = new RelayClient(store);
  const deps = { store, sagas, guests, logger: pino({ level: 'silent' }) };
  ingress = await Ingress.start(deps, { address: '127.0.0.1', port: 0, url: undefined });
  client = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
});
afterAll(async () => {
  ingress?.close();
  guests?.close();
  await door?.close();
});

/** A sandbox with a program that listens. */
async function served(): Promise<{ id: string; port: number }> {
  const { id } = await client.createSandbox({ source: 'golden-debian12' });
  return { id, port: await started(id) };
}

async function started(id: string): Promise<number> {
  const command = await client.commands.run(id, { argv: ['python3', '-u', '-c', SERVER] }, { waitSeconds: 0 });
  const said = () => client.commands.output(id, command.id, 'stdout').then((bytes) => text(bytes as never));
  await expect.poll(said, { timeout: 30_000 }).toMatch(/^\d+\n$/);
  return Number(await said());
}

async function ask(target: { id: string; port: number }, token: string, path = '/'): Promise<IncomingMessage> {
  const host = ingress.addresses.hostOf({ sandboxId: target.id, port: target.port });
  const listens = Number(new URL(ingress.addresses.url).port);
  const asking = request({
    port: listens,
    host: '127.0.0.1',
    path,
    agent: false,
    headers: { host, 'x-mayfly-token': token },
  });
  asking.on('error', () => {});
  asking.end();
  return ((await once(asking, 'response')) as [IncomingMessage])[0];
}

const statusOf = async (target: { id: string; port: number }, token: string) => {
  const answer = await ask(target, token);
  answer.resume();
  return { status: answer.statusCode, code: answer.headers['x-mayfly-code'] };
};

/** When an answer that is being read is over. */
function overAt(answer: IncomingMessage): Promise<number> {
  answer.on('error', () => {});
  answer.resume();
  return new Promise((resolve) => answer.once('close', () => resolve(performance.now())));
}

// Case 8 of the ports of issue 15.
test('a destroy is not delayed by what streams through an open port, which ends at once, and nothing is open after', async () => {
  const target = await served();
  await client.ports.open(target.id, target.port);
  const { token } = await client.ports.issueToken(target.id, target.port);
  const streams = await Promise.all(Array.from({ length: 90 }, () => ask(target, token, '/stream')));
  const over = streams.map(overAt);
  const asked = performance.now();
  expect((await client.destroySandbox(target.id)).state).toBe('destroyed');
  const proved = performance.now();
  expect(proved - asked).toBeLessThan(20_000);
  expect(Math.max(...(await Promise.all(over)))).toBeLessThan(proved + 1_000);
  expect(await statusOf(target, token)).toEqual({ status: 404, code: 'not_found' });
  expect(await door.mayfly.store.exposedPorts.of(target.id)).toEqual([]);
  await expect(client.ports.open(target.id, target.port)).rejects.toMatchObject({ code: 'sandbox_ended' });
  const { items } = await client.sandboxAudit(target.id, { limit: 200 });
  const events = items.map(({ body }) => JSON.parse(body) as AuditEvent).filter(({ kind }) => kind.startsWith('port.'));
  expect(events.map(({ kind }) => kind)).toEqual(['port.opened', 'port.token-issued', 'port.connected']);
  expect(JSON.stringify(items)).not.toContain(token);
});

// Case 4: the relay ends, and another one comes in its place.
test('a host worker that starts again cuts off what was open, and the next request works', FULL, async () => {
  const target = await served();
  await client.ports.open(target.id, target.port);
  const { token } = await client.ports.issueToken(target.id, target.port);
  const stream = await ask(target, token, '/stream');
  const over = overAt(stream);
  await door.mayfly.host?.stop();
  await over;
  expect(await statusOf(target, token)).toEqual({ status: 503, code: 'host_unavailable' });
  await door.mayfly.startHost();
  expect((await statusOf(target, token)).status).toBe(200);
  await client.destroySandbox(target.id);
});

test('a fork has no open ports, and a token of its parent opens none of it', FULL, async () => {
  const target = await served();
  await client.ports.open(target.id, target.port);
  const { token } = await client.ports.issueToken(target.id, target.port);
  const snapshot = await client.snapshots.take(target.id);
  const { id } = await client.createSandbox({ snapshotId: snapshot.id });
  expect(await client.ports.list(id)).toEqual([]);
  expect((await statusOf({ id, port: target.port }, token)).status).toBe(404);
  await client.ports.open(id, target.port);
  expect((await statusOf({ id, port: target.port }, token)).status).toBe(404);
  await client.destroySandbox(id);
  await client.destroySandbox(target.id);
});

test('a paused sandbox answers 503, or is resumed by a request where that was wished', FULL, async () => {
  const target = await served();
  await client.ports.open(target.id, target.port);
  const { token } = await client.ports.issueToken(target.id, target.port);
  await client.pauseSandbox(target.id);
  expect(await statusOf(target, token)).toEqual({ status: 503, code: 'sandbox_suspended' });
  await client.ports.close(target.id, target.port);
  await client.ports.open(target.id, target.port, { wake: true });
  const { token: waking } = await client.ports.issueToken(target.id, target.port);
  expect((await statusOf(target, waking)).status).toBe(200);
  expect((await client.getSandbox(target.id)).state).toBe('running');
  await client.destroySandbox(target.id);
});

test('what passes through an open port keeps its sandbox from being idle', FULL, async () => {
  const target = await served();
  await client.ports.open(target.id, target.port);
  const { token } = await client.ports.issueToken(target.id, target.port);
  const { store } = door.mayfly;
  const before = (await store.activity.get(target.id)).usedAt;
  await expect
    .poll(async () => {
      await statusOf(target, token);
      return (await store.activity.get(target.id)).usedAt;
    })
    .toBeGreaterThan(before);
  await client.destroySandbox(target.id);
});
