import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { TOKEN_HEADER } from '../../../services/ingress/headers.ts';
import { eventually } from '../../support/eventually.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

/** Promise: a guest can break anything of its own; its commands end with an outcome, and its end is proved. */
const WAIT = { waitSeconds: 240 };
const mayfly = useServedOnLibvirt();
let snapshotId: string;
beforeAll(async () => {
  snapshotId = await bootedSnapshot(mayfly());
});

const woken = (): Promise<Sandbox> => mayfly().client.createSandbox({ snapshotId }, WAIT);

async function sh(sandboxId: string, command: string): Promise<string> {
  const { commands } = mayfly().client;
  const ended = await commands.run(sandboxId, { command }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited' });
  return (await text(await commands.output(sandboxId, ended.id, 'stdout'))).trim();
}

async function destroyed(sandboxId: string): Promise<void> {
  const ended = await mayfly().client.destroySandbox(sandboxId, WAIT);
  expect(ended).toMatchObject({ state: 'destroyed', waitingFor: null });
  expectProof(ended);
}

test('a guest out of memory loses the greedy command, and continues', async () => {
  const { id } = await woken();
  const { commands } = mayfly().client;
  const greedy = await commands.run(id, { command: 'exec tail /dev/zero' }, WAIT);
  expect(greedy).toMatchObject({ outcome: 'signaled', signal: 'SIGKILL' });
  expect(await sh(id, 'echo alive')).toBe('alive');
  await destroyed(id);
});

test('a guest whose agent is stopped and masked is used by SSH', async () => {
  const { id } = await woken();
  const { commands } = mayfly().client;
  await commands.run(id, { command: 'sudo systemctl mask --now mayfly-agent' }, WAIT);
  expect(await sh(id, 'echo alive')).toBe('alive');
  await destroyed(id);
});

test('a command in a guest with a frozen file system ends at its timeout', async () => {
  const { id } = await woken();
  const { commands, files } = mayfly().client;
  const freeze = 'sudo fsfreeze --freeze / && touch /dev/shm/frozen';
  await commands.run(id, { command: freeze, timeoutSeconds: 5 }, { waitSeconds: 0 });
  await eventually(
    () => files.list(id, '/dev/shm'),
    ({ items }) => items.some(({ name }) => name === 'frozen'),
  );
  const ended = await commands.run(id, { command: 'true', timeoutSeconds: 5 }, WAIT);
  expect(ended).toMatchObject({ outcome: 'unknown', reason: expect.stringContaining('frozen') });
  await destroyed(id);
});

test('a guest that reboots itself returns', async () => {
  const { id } = await woken();
  const { client } = mayfly();
  const boot = await sh(id, 'cat /proc/sys/kernel/random/boot_id');
  await client.commands.run(id, { command: 'sudo systemctl --force --force reboot' }, { waitSeconds: 0 });
  await eventually(
    () => sh(id, 'cat /proc/sys/kernel/random/boot_id').catch((error: Error) => error.message),
    (told) => /^[0-9a-f-]{36}$/.test(told) && told !== boot,
  );
  await destroyed(id);
});

/** HTTP server that answers one request after another. */
const SERVER = `use IO::Socket::INET;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 8000, Listen => 9, ReuseAddr => 1) or die $!;
while (my $c = $server->accept) {
  my $line; while (defined($line = <$c>) && $line !~ /^\\r?\\n$/) {}
  print $c "HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nhello"; close $c }`;

async function fetched(sandboxId: string): Promise<string> {
  const { ports } = mayfly().client;
  const [{ url }, { token }] = [await ports.open(sandboxId, 8000), await ports.issueToken(sandboxId, 8000)];
  const { host, port } = new URL(url);
  const asking = get({ port, host: '127.0.0.1', path: '/', headers: { host, [TOKEN_HEADER]: token }, agent: false });
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return text(answer);
}

test('a killed installation serves its open ports again', async () => {
  const { id } = await woken();
  await mayfly().client.commands.run(id, { argv: ['perl', '-e', SERVER] }, { waitSeconds: 0 });
  await eventually(() => fetched(id), 'hello');
  const { api, control, host } = mayfly();
  for (const each of [api, control, host]) await each?.end('SIGKILL');
  await mayfly().startAll();
  await eventually(
    () => fetched(id).catch((error: Error) => error.message), // until the host has reported
    (body) => body === 'hello',
  );
  await destroyed(id);
});
