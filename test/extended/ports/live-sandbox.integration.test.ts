import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';
import { type Forwarded, forwarded } from '../../ports/port-door.ts';

/** Program of the guest: prints its name, and then echoes its input. */
const SERVER = `import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"guest\\n")
        while data := self.request.recv(65536): self.request.sendall(data)
class Server(socketserver.ThreadingTCPServer): request_queue_size = 128
server = Server(("127.0.0.1", 0), Echo)
print(server.server_address[1], flush=True)
server.serve_forever()`;

let door: McpDoor;
let client: MayflyClient;

beforeAll(async () => {
  door = await McpDoor.open();
  client = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
});
afterAll(() => door?.close());

function dialled({ port }: Forwarded): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  return socket;
}

/** Creates a sandbox with a listening program, and forwards a local port to it. */
async function served(): Promise<{ id: string; leads: Forwarded }> {
  const { id } = await client.createSandbox({ source: 'golden-debian12' });
  const server = { argv: ['python3', '-u', '-c', SERVER] };
  const command = await client.commands.run(id, server, { waitSeconds: 0 });
  const said = () => client.commands.output(id, command.id, 'stdout').then((bytes) => text(bytes as never));
  await expect.poll(said).toMatch(/^\d+\n$/);
  const leads = await forwarded({ MAYFLY_URL: door.url, MAYFLY_API_KEY: door.apiKey }, id, Number(await said()));
  return { id, leads };
}

// Case 8 of the ports of issue 15: a destroy does not wait for open connections, and ends them.
test('a sandbox with 100 open connections is destroyed, and they end', async () => {
  const { id, leads } = await served();
  const sockets = Array.from({ length: 100 }, () => dialled(leads));
  await Promise.all(sockets.map((socket) => once(socket, 'data')));
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  expect(await client.destroySandbox(id)).toMatchObject({ state: 'destroyed' });
  await Promise.all(closed);
  const { items } = await client.sandboxAudit(id, { limit: 200 });
  expect(items.filter(({ body }) => body.includes('"port.connected"'))).toHaveLength(1);
  dialled(leads);
  expect(await leads.code).not.toBe(0);
  expect(leads.err()).toContain('sandbox');
});

// A connection resumes a paused sandbox with autoResume.
test('a paused sandbox with autoResume is resumed by a connection', async () => {
  const { id, leads } = await served();
  await client.extendSandbox(id, { autoResume: true });
  await client.pauseSandbox(id);
  const socket = dialled(leads);
  expect(String((await once(socket, 'data'))[0])).toBe('guest\n');
  expect((await client.getSandbox(id)).state).toBe('running');
  socket.destroy();
  await leads.end();
  await client.destroySandbox(id);
});
