import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserCa } from '../../ca/user-ca.ts';
import { sshArguments } from '../../cli/ssh.ts';
import { CERTIFICATE_FILE, Credentials } from '../../host/credentials.ts';
import { exec } from '../../host/exec.ts';
import { GuestConnections } from '../../host/guest/connections.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { verifySsh } from '../../host/ssh/verify.ts';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { SshEndpoint } from '../../model/sandbox.ts';
import { builtAgent } from '../host/guest/machine.ts';
import { startMachine, type TestMachine } from '../host/libvirt/machine.ts';

const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
const actor = { apiKeyId: 'test', agentId: null };
const context = () => ({ signal: AbortSignal.timeout(120_000), alive: () => {} });

let machine: TestMachine;
let ca: UserCa;
let guests: GuestConnections;
let endpoint: SshEndpoint;
let serial = 0n;

beforeAll(async () => {
  machine = await startMachine();
  ca = await UserCa.open(join(machine.state.root, 'ca'));
  const credentials = new Credentials(machine.state);
  await credentials.open();
  const userCaKeys = await ca.publicKeys();
  const shape = { source: machine.source, cpus: null, memoryMib: null, egress: 'none', userCaKeys } as const;
  const clone = await machine.host.cloneDisk({ sandboxId, ...shape }, context());
  await machine.host.bootDomain(sandboxId, context());
  const { address, port } = await machine.host.awaitLease(sandboxId, context());
  const { publicKey } = await credentials.makeCredentials(sandboxId);
  await credentials.storeCertificate(sandboxId, (await signed(publicKey)).certificate);
  endpoint = { address, port, user: clone.user, hostKey: clone.hostKey };
  await verifySsh({ endpoint, credentialsDir: credentials.directory(sandboxId), ...context() });
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

function signed(publicKey: string) {
  return ca.sign({ sandboxId, publicKey, actor, source: machine.source, serial: ++serial });
}

async function caller() {
  const pair = makeKeyPair('caller');
  const certificate = await signed(pair.publicKey);
  const folder = join(machine.state.root, `caller-${certificate.serial}`);
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, 'key'), pair.privateKey, { mode: 0o600 });
  const issued = {
    ...certificate,
    ...endpoint,
    serial: String(certificate.serial),
    principal: sandboxId,
    knownHosts: '',
  };
  return { ...issued, argv: await sshArguments(folder, sandboxId, issued) };
}

async function shell(argv: string[]): Promise<ChildProcess> {
  const child = spawn('ssh', [...argv, 'echo in; exec cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  return child;
}

async function tell(method: 'PUT' | 'POST', path: string, body: unknown): Promise<void> {
  const agent = await guests.agent(sandboxId, context());
  const answer = await agent.request({ method, path, body: Buffer.from(JSON.stringify(body)) });
  const text = Buffer.concat(await answer.body.toArray()).toString();
  expect([answer.status, text]).toEqual([204, '']);
}

test('caa-015, on a real machine: the shell of a revoked certificate ends, it opens nothing, others and the platform stay', async () => {
  const [one, other] = [await caller(), await caller()];
  const [mine, theirs] = [await shell(one.argv), await shell(other.argv)];
  try {
    const platform = await guests.agent(sandboxId, context());
    await tell('PUT', '/v1/trust', await ca.trust([one]));
    await tell('POST', '/v1/sessions/end', { serials: [one.serial] });
    if (mine.exitCode === null) await once(mine, 'exit');
    await expect(exec('ssh', [...one.argv, 'true'])).rejects.toThrow('Permission denied');
    expect((await exec('ssh', [...other.argv, 'echo still'])).stdout).toBe('still\n');
    expect(theirs.exitCode).toBeNull();
    expect(platform.closed).toBe(false);
  } finally {
    theirs.kill();
    if (theirs.exitCode === null && theirs.signalCode === null) await once(theirs, 'exit');
  }
});
