import { once } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import { PortAddress } from '../../model/ports/port-address.ts';
import { ask, NOT_YET, outcomeOf, PATIENCE_MS, WAIT } from './asking.ts';
import { insisting } from './insisting.ts';
import { PORTS } from './installation.ts';
import type { Act, Stage } from './stage.ts';

const SERVER = `import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"guest")
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()`;

const addresses = new PortAddress(`http://localhost:${PORTS.ingress}`);

/** Opens a port, uses it, and destroys its sandbox; a kill in between leaves no open port. */
export const OPEN_A_PORT: Act = {
  prepare: async (stage) => {
    const id = await stage.sandbox();
    return [id, await listening(stage, id)];
  },
  run: ({ client }, [id = '', port = '']) =>
    outcomeOf(async () => {
      await ask(() => client.ports.open(id, Number(port)));
      const { token } = await ask(() => client.ports.issueToken(id, Number(port)));
      const used = await insisting(() => asked(id, Number(port), token), PATIENCE_MS);
      if (used !== '200 guest') return used;
      const { state } = await ask(() => client.destroySandbox(id, WAIT));
      const after = await insisting(() => asked(id, Number(port), token), PATIENCE_MS);
      return after.startsWith('404 ') ? state : `${state}, and then ${after}`;
    }, 'destroyed'),
};

async function listening({ client }: Stage, id: string): Promise<string> {
  const server = { argv: ['python3', '-u', '-c', SERVER] };
  const { id: commandId } = await ask((o) => client.commands.run(id, server, { ...o, waitSeconds: 0 }));
  return insisting(async () => {
    const said = await text(await client.commands.output(id, commandId, 'stdout'));
    if (!/^\d+\n$/.test(said)) throw new MayflyApiError(NOT_YET);
    return said.trim();
  }, PATIENCE_MS);
}

/** Returns status and content. @throws MayflyApiError to retry while unavailable */
async function asked(sandboxId: string, port: number, token: string): Promise<string> {
  const headers = { host: addresses.hostOf({ sandboxId, port }), 'x-mayfly-token': token };
  const { status, said } = await answered(headers).catch(() => {
    throw new MayflyApiError(NOT_YET);
  });
  if ([502, 503].includes(status)) throw new MayflyApiError(NOT_YET);
  return `${status} ${said}`;
}

/** Sends one request. @throws without an answer, or when the server is killed midway */
async function answered(headers: OutgoingHttpHeaders): Promise<{ status: number; said: string }> {
  const asking = request({ port: PORTS.ingress, host: '127.0.0.1', headers, agent: false }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, said: await text(answer) };
}
