import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserCa } from '../../../ca/user-ca.ts';
import { GuestConnections } from '../../../host/guest/connections.ts';
import { CERTIFICATE_FILE, Credentials } from '../../../host/ssh/credentials.ts';
import { verifySsh } from '../../../host/ssh/verify.ts';
import { commandIdFrom, ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import { FrameReader } from '../../../model/sandbox/output-frame.ts';
import { requestOf } from '../../guest/command-client.ts';
import { builtAgent } from '../../host/guest/machine.ts';
import { startMachine, type TestMachine } from '../../host/libvirt/machine.ts';

const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
const context = () => ({ signal: AbortSignal.timeout(120_000), alive: () => {} });

let machine: TestMachine;
let guests: GuestConnections;

beforeAll(async () => {
  machine = await startMachine();
  const ca = await UserCa.open(join(machine.state.root, 'ca'));
  const credentials = new Credentials(machine.state);
  await credentials.open();
  const userCaKeys = await ca.publicKeys();
  const shape = {
    source: machine.source,
    snapshotId: null,
    cpus: null,
    memoryMib: null,
    egress: 'none',
    userCaKeys,
  } as const;
  const clone = await machine.host.cloneDisk({ sandboxId, ...shape }, context());
  await machine.host.bootDomain(sandboxId, context());
  const { address, port } = await machine.host.awaitLease(sandboxId, context());
  const { publicKey } = await credentials.makeCredentials(sandboxId);
  const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
  const { certificate } = await ca.sign({ sandboxId, publicKey, actor, source: machine.source, serial: 1n });
  await credentials.storeCertificate(sandboxId, certificate);
  const endpoint = { address, port, user: clone.user, hostKey: clone.hostKey };
  (await verifySsh({ endpoint, credentialsDir: credentials.directory(sandboxId), ...context() })).end();
  guests = new GuestConnections({
    hypervisor: machine.host,
    credentials,
    agent: builtAgent(),
    identify: () => Promise.resolve({ user: clone.user, hostKey: clone.hostKey, verified: true }),
    renew: () => readFile(join(credentials.directory(sandboxId), CERTIFICATE_FILE), 'utf8'),
  });
});
afterAll(async () => {
  guests?.closeAll();
  await machine?.end();
});

async function ask(method: 'GET' | 'PUT' | 'POST', path: string, body?: object): Promise<Buffer> {
  const agent = await guests.agent(sandboxId, context());
  const answer = await agent.request({ method, path, ...(body && { body: Buffer.from(JSON.stringify(body)) }) });
  return Buffer.concat(await answer.body.toArray());
}

async function begin(command: string): Promise<string> {
  const path = `/v1/commands/${commandIdFrom(randomBytes(ID_BYTES))}`;
  await ask('PUT', path, requestOf({ command }));
  return path;
}

async function resultOf(path: string): Promise<{ stdout: string; exit: unknown }> {
  let stdout = '';
  for (const item of new FrameReader().push(await ask('GET', `${path}/output`))) {
    if ('exit' in item) return { stdout, exit: JSON.parse(item.exit) };
    if (item.stream === 'stdout') stdout += Buffer.from(item.bytes).toString();
  }
  throw new Error('the output has no end');
}

const run = async (command: string) => (await resultOf(await begin(command))).stdout;

test('the image brings the agent, which systemd keeps and protects; its commands are as after a login', async () => {
  expect(JSON.parse((await ask('GET', '/v1/health')).toString())).toMatchObject({ version: builtAgent().version });
  expect(await run('id -un; pwd; cat /proc/self/oom_score_adj; grep -c mayfly /proc/self/cgroup')).toBe(
    'sandbox\n/home/sandbox\n0\n1\n',
  );
  expect(await run('cat /proc/$(pgrep -xf "/opt/mayfly/mayfly-agent serve --user sandbox")/oom_score_adj')).toBe(
    '-1000\n',
  );
});

test('cancelling ends also who has left the session, the parents and the environment', async () => {
  const path = await begin('(setsid env -i sh -c "trap : TERM; (sleep 5432; sleep 5432) & exit" &); sleep 5432');
  await expect.poll(() => run('pgrep -c -x sleep')).toBe('2\n');
  await ask('POST', `${path}/cancel`, {});
  expect((await resultOf(path)).exit).toMatchObject({ outcome: 'cancelled' });
  expect(await run('pgrep -c -x sleep')).toBe('0\n');
  expect(await run('ls -d /sys/fs/cgroup/mayfly/cmd-* | wc -l')).toBe('1\n');
});

test('an agent that is killed comes back, and says of what it was running that nobody knows', async () => {
  const path = await begin('echo begun; sleep 5432');
  await begin('sudo pkill -KILL -o -xf "/opt/mayfly/mayfly-agent serve --user sandbox"');
  await expect.poll(async () => ask('GET', '/v1/health').catch(() => '')).not.toBe('');
  await expect
    .poll(async () => resultOf(path).catch(() => null))
    .toMatchObject({
      exit: { outcome: 'unknown' },
    });
  expect(await run('pgrep -c -x sleep')).toBe('0\n');
});
