import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { inTurn } from '../measure/in-turn.ts';
import type { Samples } from '../measure/measure.ts';

const MIB = 1_048_576;
const BYTES = 16 * MIB;
const PATH = '/home/sandbox/mayfly-bench';
const WAIT = { waitSeconds: 240 };
const PROGRAM = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));
/** A request a connection: `/file` is so many bytes of zeros, all else is small. */
const SERVER = `use IO::Socket::INET; $SIG{CHLD} = 'IGNORE'; $| = 1;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 100) or die $!; print $server->sockport, "\\n";
while (my $c = $server->accept) {
  next if fork; my $line = <$c>; my $more; do { $more = <$c> } while defined $more && $more =~ /\\S/;
  my $size = $line =~ m{^GET /file } ? ${BYTES} : 5;
  print $c "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: $size\\r\\n\\r\\n";
  if ($size == 5) { print $c 'small' } else { my $z = "\\0" x 65536; print $c $z for 1..${BYTES / 65_536} }
  exit }`;

interface PortsBench {
  client: MayflyClient;
  apiUrl: string;
  apiKey: string;
  source: string;
  runs: number;
}

type By = 'forward' | 'ingress';
type What = 'file' | 'small';

/**
 * A file or a small answer of a program in a guest, on a new connection each, beside the same of the guest's files: both go
 * by the relay, so what differs is the door.
 */
export function portBesideFile(by: By, what: What) {
  return async (bench: PortsBench, samples: Samples): Promise<void> => {
    const { client, source } = bench;
    const { id } = await client.createSandbox({ source }, WAIT);
    let forwarding: ChildProcess | undefined;
    try {
      const port = await served(client, id);
      await client.commands.run(id, { command: `head -c ${BYTES} /dev/zero > ${PATH}` }, WAIT);
      let url: URL;
      let headers: Record<string, string> = {};
      if (by === 'forward') {
        let localPort: number;
        ({ forwarding, localPort } = await forwarded(bench, id, port));
        url = new URL(`http://127.0.0.1:${localPort}`);
      } else {
        ({ url, headers } = await opened(client, id, port));
      }
      const path = what === 'file' ? '/file' : '/';
      const ours = () => asked({ port: Number(url.port), path, headers }, what === 'file' ? BYTES : 5);
      const file = async () => drained((await client.files.read(id, PATH)).body, BYTES);
      const small = () => client.files.stat(id, PATH);
      await inTurn(bench, samples, ours, what === 'file' ? file : small);
    } finally {
      forwarding?.kill('SIGINT');
      await client.destroySandbox(id, WAIT);
    }
  };
}

/** @returns the port at which the program listens */
async function served(client: MayflyClient, id: string): Promise<number> {
  const { id: commandId } = await client.commands.run(id, { argv: ['perl', '-e', SERVER] }, { waitSeconds: 0 });
  for (let tries = 0; tries < 200; tries++) {
    const said = await text((await client.commands.output(id, commandId, 'stdout')) as never);
    if (/^\d+\n$/.test(said)) return Number(said);
    await sleep(100);
  }
  throw new Error('the program in the guest never listened');
}

async function forwarded({ apiUrl, apiKey }: PortsBench, id: string, port: number) {
  const env = { ...process.env, MAYFLY_URL: apiUrl, MAYFLY_API_KEY: apiKey };
  const args = [PROGRAM, 'port', 'forward', id, `0:${port}`, '--json'];
  const forwarding = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: forwarding.stdout }), 'line')) as [string];
  return { forwarding, localPort: (JSON.parse(line) as { localPort: number }).localPort };
}

async function opened(client: MayflyClient, id: string, port: number) {
  const url = new URL((await client.ports.open(id, port)).url);
  const { token } = await client.ports.issueToken(id, port);
  // Its name leads to this machine wherever it is resolved; what it stands for is in the header.
  return { url, headers: { host: url.host, 'x-mayfly-token': token } };
}

async function asked(where: { port: number; path: string; headers: Record<string, string> }, bytes: number) {
  const asking = get({ ...where, host: '127.0.0.1', agent: false });
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  await drained(answer, bytes);
}

async function drained(chunks: AsyncIterable<Uint8Array>, bytes: number): Promise<void> {
  let came = 0;
  for await (const chunk of chunks) came += chunk.length;
  if (came !== bytes) throw new Error(`${came} bytes came of ${bytes}`);
}
