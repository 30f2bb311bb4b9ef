import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Bench, WAIT, withSandbox } from './support/bench.ts';
import { type Figures, type Pair, round, Samples } from './support/measure.ts';

const BYTES = 16 * 1_048_576;
const PATH = '/home/sandbox/mayfly-bench';
const PROGRAM = fileURLToPath(new URL('../bin/mayfly', import.meta.url));
/** Program that serves one request per connection: `/file` is that many zero bytes, any other path a small answer. */
const SERVER = `use IO::Socket::INET; $SIG{CHLD} = 'IGNORE'; $| = 1;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 100) or die $!; print $server->sockport, "\\n";
while (my $c = $server->accept) {
  next if fork; my $line = <$c>; my $more; do { $more = <$c> } while defined $more && $more =~ /\\S/;
  my $size = $line =~ m{^GET /file } ? ${BYTES} : 5;
  print $c "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: $size\\r\\n\\r\\n";
  if ($size == 5) { print $c 'small' } else { my $z = "\\0" x 65536; print $c $z for 1..${BYTES / 65_536} }
  exit }`;
/** At least 0.7 of the speed of files. */
const FILE = { times: round(1 / 0.7) };
const SMALL = { moreMs: 5 };

/**
 * Measures a file and a small answer of a guest's program, each on a new connection, against the same of the guest's
 * files: all use the relay, so only the endpoint differs.
 */
export async function measurePorts(bench: Bench): Promise<Figures> {
  const { client } = bench;
  const samples = new Samples();
  await withSandbox(bench, async ({ id }) => {
    const port = await serve(bench, id);
    await client.commands.run(id, { command: `head -c ${BYTES} /dev/zero > ${PATH}` }, WAIT);
    const forward = await forwardPort(bench, id, port);
    const open = await openPort(bench, id, port);
    try {
      await samples.rounds(bench, async (counted) => {
        await counted.time('16 MiB of a file', async () => drain((await client.files.read(id, PATH)).body, BYTES));
        await counted.time('16 MiB by port forward', () => fetchBytes(forward, '/file', BYTES));
        await counted.time('16 MiB by an open port', () => fetchBytes(open, '/file', BYTES));
        await counted.time('stat of a file', () => client.files.stat(id, PATH));
        await counted.time('a small answer by port forward', () => fetchBytes(forward, '/', 5));
        await counted.time('a small answer by an open port', () => fetchBytes(open, '/', 5));
      });
    } finally {
      forward.stop();
    }
  });
  const pairs = ['port forward', 'an open port'].flatMap((by): Pair[] => [
    { what: `16 MiB by ${by}`, ours: `16 MiB by ${by}`, beside: '16 MiB of a file', most: FILE },
    { what: `small, by ${by}`, ours: `a small answer by ${by}`, beside: 'stat of a file', most: SMALL },
  ]);
  return { spreads: samples.spreads(), pairs };
}

/** Starts the program. @returns its port */
async function serve({ client: { commands } }: Bench, id: string): Promise<number> {
  const { id: commandId } = await commands.run(id, { argv: ['perl', '-e', SERVER] }, { waitSeconds: 0 });
  for (let tries = 0; tries < 200; tries++) {
    const printed = await text(await commands.output(id, commandId, 'stdout'));
    if (/^\d+\n$/.test(printed)) return Number(printed);
    await sleep(100);
  }
  throw new Error('the program in the guest never listened');
}

interface Endpoint {
  port: number;
  headers: Record<string, string>;
}

async function forwardPort(
  { installation }: Bench,
  id: string,
  port: number,
): Promise<Endpoint & { stop: () => void }> {
  const env = { ...process.env, MAYFLY_URL: installation.apiUrl, MAYFLY_API_KEY: installation.adminKey };
  const args = [PROGRAM, 'port', 'forward', id, `0:${port}`, '--json'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { localPort } = JSON.parse(line) as { localPort: number };
  return { port: localPort, headers: {}, stop: () => child.kill('SIGINT') };
}

async function openPort({ client: { ports } }: Bench, id: string, port: number): Promise<Endpoint> {
  const url = new URL((await ports.open(id, port)).url);
  const { token } = await ports.issueToken(id, port);
  // Every URL of an open port leads to this machine; the header selects the port.
  return { port: Number(url.port), headers: { host: url.host, 'x-mayfly-token': token } };
}

async function fetchBytes({ port, headers }: Endpoint, path: string, bytes: number): Promise<void> {
  const [answer] = (await once(get({ port, headers, path, host: '127.0.0.1', agent: false }), 'response')) as [
    IncomingMessage,
  ];
  await drain(answer, bytes);
}

async function drain(chunks: AsyncIterable<Uint8Array>, bytes: number): Promise<void> {
  let came = 0;
  for await (const chunk of chunks) came += chunk.length;
  if (came !== bytes) throw new Error(`${came} bytes came of ${bytes}`);
}
