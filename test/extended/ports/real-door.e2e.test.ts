import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Port } from '../../../clients/typescript/http/openapi.ts';
import { Leases } from '../../../host/libvirt/network/leases.ts';
import { leaseFolderOf } from '../../../host/libvirt/network/private-libvirtd.ts';
import { exec } from '../../../host/os/exec.ts';
import { macAddress } from '../../../model/ids.ts';
import { upgradeRequest } from '../../ports/upgrade-request.ts';
import { eventually } from '../../support/eventually.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

/**
 * Promise: docs/ports-desktop.md on a real VM: open ports answer by URL until the sandbox ends; nothing else is reachable.
 * Costs 6 minutes.
 */
const WAIT = { waitSeconds: 240 };
const PORT = 3_000;
const SWEEP = fileURLToPath(new URL('../../ports/port-sweep.mjs', import.meta.url));
const OUTSIDE = 'mfswept';
/** Serves a page, an event stream, and a WebSocket echo, whose frames are passed through unread. */
const SERVER = `use IO::Socket::INET; $SIG{CHLD} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => ${PORT}, Listen => 100, ReuseAddr => 1) or die $!;
while (my $c = $server->accept) {
  next if fork; $c->autoflush(1); my ($head, $line) = ('');
  while (defined($line = <$c>) && $line !~ /^\\r?\\n$/) { $head .= $line }
  if ($head =~ m{^GET /events }) {
    print $c "HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nConnection: close\\r\\n\\r\\n";
    for (1..3) { print $c "data: $_\\n\\n"; sleep 1 }
  } elsif ($head =~ /^upgrade: websocket/im) {
    print $c "HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\\r\\n\\r\\n";
    my $b; while (sysread $c, $b, 4096) { syswrite $c, $b }
  } else {
    my ($host) = $head =~ /^host: (.*?)\\r/im; my $page = "<h1>here</h1>$host";
    print $c "HTTP/1.1 200 OK\\r\\nContent-Length: " . length($page) . "\\r\\nConnection: close\\r\\n\\r\\n$page";
  }
  exit }`;

const mayfly = useServedOnLibvirt();
let [closed, open] = ['', ''];
let opened: Port;
let headers: Record<string, string>;

beforeAll(async () => {
  const snapshotId = await bootedSnapshot(mayfly());
  const { client } = mayfly();
  const woken = (egress: 'none' | 'internet') => client.createSandbox({ snapshotId, network: { egress } }, WAIT);
  [closed, open] = (await Promise.all([woken('none'), woken('internet')])).map(({ id }) => id) as [string, string];
  await client.commands.run(closed, { argv: ['perl', '-e', SERVER] }, { waitSeconds: 0 });
  opened = await client.ports.open(closed, PORT);
  const { token } = await client.ports.issueToken(closed, PORT);
  headers = { host: new URL(opened.url).host, 'x-mayfly-token': token };
  await eventually(async () => (await ask('/')).status, 200);
});

async function begun(path: string, more: Record<string, string> = {}): Promise<IncomingMessage> {
  const { port } = new URL(opened.url);
  const asking = get({ port, host: '127.0.0.1', path, headers: { ...headers, ...more }, agent: false });
  return ((await once(asking, 'response')) as [IncomingMessage])[0];
}

async function ask(path: string, more: Record<string, string> = {}) {
  const answer = await begun(path, more);
  return { status: answer.statusCode, code: answer.headers['x-mayfly-code'], text: await text(answer) };
}

test('a page and an event stream of a real guest are served at the URL of its port', async () => {
  expect(await ask('/')).toMatchObject({ status: 200, text: `<h1>here</h1>localhost:${PORT}` });
  const stream = await begun('/events');
  const chunks: string[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk.toString());
  expect(chunks.join('')).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  expect(chunks.length).toBeGreaterThan(1); // line by line, not all at the end
});

test('a port without a listener is 502, even if the host listens there', async () => {
  const { client, cliEnv } = mayfly();
  const ofHost = [Number(new URL(cliEnv['MAYFLY_URL'] ?? '').port), Number(new URL(opened.url).port), 9];
  for (const port of ofHost) {
    const { url } = await client.ports.open(closed, port);
    const { token } = await client.ports.issueToken(closed, port);
    const more = { host: new URL(url).host, 'x-mayfly-token': token };
    expect(await ask('/', more), String(port)).toMatchObject({ status: 502, code: 'port_closed' });
    const connecting = client.ports.connect(closed, port, new ReadableStream());
    await expect(connecting).rejects.toMatchObject({ code: 'port_closed' });
  }
  await expect(client.ports.open(closed, 22)).rejects.toMatchObject({ code: 'port_refused' });
});

async function addressOf(sandboxId: string): Promise<string> {
  const leases = new Leases(leaseFolderOf(join(mayfly().state.root, 'host', 'libvirt')), ['mayfly0', 'mayfly1']);
  const lease = (await leases.all()).find((one) => one.macAddress === macAddress(sandboxId));
  if (!lease) throw new Error(`${sandboxId} has no lease`);
  return lease.address;
}

/** Creates a network beside the host's, which routes all guest addresses to the host. */
async function outside(): Promise<void> {
  await exec('ip', ['netns', 'add', OUTSIDE]);
  await exec('ip', ['link', 'add', 'mfinside', 'type', 'veth', 'peer', 'name', 'mfoutside', 'netns', OUTSIDE]);
  await exec('ip', ['address', 'add', '192.0.2.1/24', 'dev', 'mfinside']);
  await exec('ip', ['link', 'set', 'mfinside', 'up']);
  const there = (...args: string[]) => exec('ip', ['-n', OUTSIDE, ...args]);
  await there('address', 'add', '192.0.2.2/24', 'dev', 'mfoutside');
  await there('link', 'set', 'mfoutside', 'up');
  await there('route', 'add', 'default', 'via', '192.0.2.1');
}

afterAll(async () => {
  await exec('ip', ['netns', 'delete', OUTSIDE]).catch(() => {});
});

const swept = async (address: string, from: string[] = []) => {
  const [program, ...args] = [...from, process.execPath, SWEEP, address];
  return JSON.parse((await exec(program, args, { timeoutMs: 280_000 })).stdout) as number[];
};

test('of all TCP ports of a guest, only SSH answers the host, and none answers another network', async () => {
  await outside();
  const fromOutside = ['ip', 'netns', 'exec', OUTSIDE];
  for (const id of [closed, open]) {
    const address = await addressOf(id);
    expect(await swept(address), `${address} from the host`).toEqual([22]);
    expect(await swept(address, fromOutside), `${address} from outside`).toEqual([]);
  }
  // Control: the sweep finds a server, since the host forwards packets and has only this one.
  expect(await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).toBe('1\n');
  const bait = createServer((socket) => void socket.end()).listen(0, '192.0.2.1');
  await once(bait, 'listening');
  expect(await swept('192.0.2.1', fromOutside)).toEqual([(bait.address() as AddressInfo).port]);
  bait.close();
}, 1_200_000);

test('a WebSocket works both ways, and ends with the sandbox, whose port is not found afterwards', async () => {
  const { port } = new URL(opened.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
  const { host = '', ...token } = headers;
  socket.write(upgradeRequest(host, '/', token));
  await expect.poll(() => heard).toMatch(/^HTTP\/1\.1 101 /);
  socket.write('there and back');
  await expect.poll(() => heard).toContain('there and back');
  const gone = once(socket, 'close');
  const destroyed = mayfly().client.destroySandbox(closed, WAIT);
  await gone;
  expect((await destroyed).proof).not.toBeNull();
  expect(await ask('/')).toMatchObject({ status: 404 });
});
