import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { RelayClient } from '../../host/relay/client.ts';
import { Ingress } from '../../services/ingress/ingress-server.ts';
import { McpDoor } from '../mcp/mcp-door.ts';
import { eventually } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';

/** Program in the guest: `/` identifies it, `/stream` never ends. */
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

interface Target {
  id: string;
  port: number;
}

/** Opens the API, and the ingress of open ports. */
export function useOpenPorts() {
  const get = useOpened(
    async () => {
      const door = await McpDoor.open();
      const { store, sagas } = door.mayfly;
      const guests = new RelayClient(store);
      const deps = { store, sagas, guests, logger: pino({ level: 'silent' }) };
      const ingress = await Ingress.start(deps, { address: '127.0.0.1', port: 0, url: undefined });
      return { door, guests, ingress, client: new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey }) };
    },
    async ({ door, guests, ingress }) => {
      ingress.close();
      guests.close();
      await door.close();
    },
  );
  const client = () => get().client;

  /** Creates a sandbox with a listening program. */
  async function createServer(): Promise<Target> {
    const { id } = await client().createSandbox({ source: 'golden-debian12' });
    const command = await client().commands.run(id, { argv: ['python3', '-u', '-c', SERVER] }, { waitSeconds: 0 });
    const readPort = async () => text((await client().commands.output(id, command.id, 'stdout')) as never);
    const port = await eventually(readPort, (said) => /^\d+\n$/.test(said));
    return { id, port: Number(port) };
  }

  async function ask(target: Target, token: string, path = '/'): Promise<IncomingMessage> {
    const { addresses } = get().ingress;
    const host = addresses.hostOf({ sandboxId: target.id, port: target.port });
    const listens = Number(new URL(addresses.url).port);
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

  async function getStatus(target: Target, token: string) {
    const answer = await ask(target, token);
    answer.resume();
    return { status: answer.statusCode, code: answer.headers['x-mayfly-code'] };
  }

  return { mayfly: () => get().door.mayfly, client, createServer, ask, getStatus };
}

/** Reads an answer, and resolves at its end. */
export function awaitClose(answer: IncomingMessage): Promise<void> {
  answer.on('error', () => {});
  answer.resume();
  return new Promise((resolve) => answer.once('close', () => resolve()));
}
