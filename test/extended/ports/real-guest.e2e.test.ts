import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Forwarded, forwarded } from '../../ports/port-door.ts';
import { eventually } from '../../support/eventually.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const MIB = 1_048_576;
/** Bytes of a transfer: emulated guests encrypt 16 MiB in two seconds. */
const BYTES = 16 * MIB;
const PATH = '/home/sandbox/zeros';
/**
 * Serves each connection in a process: `down` sends bytes, `up` counts bytes, HTTP's `GET /file` sends bytes, other
 * lines are echoed.
 */
const SERVER = `use IO::Socket::INET; $SIG{CHLD} = 'IGNORE'; $| = 1;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 100) or die $!;
print $server->sockport, "\\n";
while (my $c = $server->accept) {
  next if fork; $c->autoflush(1); my $line = <$c>;
  if ($line =~ /^down/) { my $z = "\\0" x 65536; print $c $z for 1..${BYTES / 65_536} }
  elsif ($line =~ /^GET (\\S+)/) {
    my $size = $1 eq '/file' ? ${BYTES} : 5; my $more; do { $more = <$c> } while $more =~ /\\S/;
    print $c "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: $size\\r\\n\\r\\n";
    if ($size == 5) { print $c 'small' } else { my $z = "\\0" x 65536; print $c $z for 1..${BYTES / 65_536} }
  } elsif ($line =~ /^up/) { my $n = 0; while (my $got = read $c, my $b, 65536) { $n += $got } print $c "$n\\n" }
  else { do { print $c $line } while ($line = <$c>) }
  exit }`;

const mayfly = useServedOnLibvirt();
let id: string;
let port: number;
let leads: Forwarded;

beforeAll(async () => {
  const snapshotId = await bootedSnapshot(mayfly());
  const { client } = mayfly();
  id = (await client.createSandbox({ snapshotId }, { waitSeconds: 240 })).id;
  const { id: commandId } = await client.commands.run(id, { argv: ['perl', '-e', SERVER] }, { waitSeconds: 0 });
  const said = async () => text((await client.commands.output(id, commandId, 'stdout')) as never);
  port = Number(await eventually(said, (line) => /^\d+\n$/.test(line)));
  leads = await forwarded(mayfly().cliEnv, id, port);
  await client.commands.run(id, { command: `head -c ${BYTES} /dev/zero > ${PATH}` });
});
afterAll(() => leads?.end());

function dialled(): Socket {
  return connect({ port: leads.port, host: '127.0.0.1', allowHalfOpen: true });
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) bytes += chunk.length;
  return bytes;
}

/** Measures the minimum of three attempts, seconds. */
async function seconds(act: () => Promise<unknown>): Promise<number> {
  const all: number[] = [];
  for (let n = 0; n < 3; n++) {
    const begun = performance.now();
    await act();
    all.push((performance.now() - begun) / 1_000);
  }
  return Math.min(...all);
}

async function echoed(socket: Socket): Promise<void> {
  socket.write('ping\n');
  await once(socket, 'data');
}

async function newConnection(): Promise<void> {
  const socket = dialled();
  await echoed(socket);
  socket.destroy();
}

/** Opens the same program by its URL. */
async function openedPort() {
  const { ports } = mayfly().client;
  const { url } = await ports.open(id, port);
  const { token } = await ports.issueToken(id, port);
  const headers = { host: new URL(url).host, 'x-mayfly-token': token };
  return async (path: string) => {
    const asking = get({ port: new URL(url).port, host: '127.0.0.1', path, headers, agent: false });
    return ((await once(asking, 'response')) as [IncomingMessage])[0];
  };
}

// Promise: docs/ports-desktop.md. Costs a minute: a VM, and 150 MiB through an emulated guest's encryption.
test('a connection to a real guest is as fast as its files, and costs a few milliseconds', async () => {
  const { files } = mayfly().client;
  const down = async () => {
    const socket = dialled();
    socket.write('down\n');
    expect(await bytesOf(socket)).toBe(BYTES);
    socket.destroy();
  };
  const up = async () => {
    const socket = dialled();
    socket.write('up\n');
    socket.end(Buffer.alloc(BYTES));
    expect(await text(socket)).toBe(`${BYTES}\n`);
  };
  const read = async () => expect(await bytesOf((await files.read(id, PATH)).body)).toBe(BYTES);
  const fileSeconds = await seconds(read);
  const [downSeconds, upSeconds] = [await seconds(down), await seconds(up)];
  const stat = async () => void (await files.stat(id, '/etc/hostname'));
  const smallMs = (await seconds(stat)) * 1_000;
  const socket = dialled();
  await echoed(socket);
  const echoMs = (await seconds(() => echoed(socket))) * 1_000;
  socket.destroy();
  const opened = await openedPort();
  const byDoor = async (path: string, bytes: number) => expect(await bytesOf(await opened(path))).toBe(bytes);
  const doorSeconds = await seconds(() => byDoor('/file', BYTES));
  const newMs = (await seconds(newConnection)) * 1_000;
  const newByDoorMs = (await seconds(() => byDoor('/', 5))) * 1_000;
  const mibPerSecond = (time: number) => (BYTES / MIB / time).toFixed(1);
  const figures = `down ${mibPerSecond(downSeconds)}, up ${mibPerSecond(upSeconds)}, file ${mibPerSecond(fileSeconds)} MiB/s`;
  const small = `echo ${echoMs.toFixed(1)}, new connection ${newMs.toFixed(1)}, stat of a file ${smallMs.toFixed(1)} ms`;
  console.info(`${figures}; ${small}`);
  console.info(`open port: ${mibPerSecond(doorSeconds)} MiB/s, small answer ${newByDoorMs.toFixed(1)} ms`);
  expect(downSeconds).toBeLessThan(fileSeconds / 0.7);
  expect(echoMs).toBeLessThan(smallMs + 5);
});
