import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserCa } from '../../../ca/user-ca.ts';
import { GuestConnections } from '../../../host/guest/connections.ts';
import { CERTIFICATE_FILE, Credentials } from '../../../host/ssh/credentials.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { verifySsh } from '../../../host/ssh/verify.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import type { SshEndpoint } from '../../../model/sandbox/sandbox.ts';
import { builtAgent } from '../../host/guest/machine.ts';
import { startMachine, type TestMachine } from '../../host/libvirt/machine.ts';
import { ended, isAlive, SshCaller } from '../../support/ssh-caller.ts';

const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
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
  const clone = await machine.booted.wake(sandboxId, await ca.publicKeys());
  const { address, port } = await machine.host.awaitLease(sandboxId, context());
  const { publicKey } = await credentials.makeCredentials(sandboxId);
  await credentials.storeCertificate(sandboxId, (await signed(publicKey)).certificate);
  endpoint = { address, port, user: clone.user, hostKey: clone.hostKey };
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

function signed(publicKey: string) {
  return ca.sign({ sandboxId, publicKey, actor, source: machine.source, serial: ++serial });
}

async function caller(): Promise<SshCaller> {
  const pair = makeKeyPair('caller');
  const { serial: number, ...certificate } = await signed(pair.publicKey);
  const where = { ...endpoint, principal: sandboxId, knownHosts: '' };
  return SshCaller.with(machine.state.root, pair, { ...certificate, ...where, serial: String(number) });
}

async function tell(method: 'PUT' | 'POST', path: string, body: unknown): Promise<void> {
  const agent = await guests.agent(sandboxId, context());
  const answer = await agent.request({ method, path, body: Buffer.from(JSON.stringify(body)) });
  const text = Buffer.concat(await answer.body.toArray()).toString();
  expect([answer.status, text]).toEqual([204, '']);
}

test('caa-015, on a real machine: the shell of a revoked certificate ends, it opens nothing, others and the platform stay', async () => {
  const [one, other] = [await caller(), await caller()];
  const [mine, theirs] = [await one.shell(), await other.shell()];
  try {
    const platform = await guests.agent(sandboxId, context());
    await tell('PUT', '/v1/trust', await ca.trust([one.issued]));
    await tell('POST', '/v1/sessions/end', { serials: [one.issued.serial] });
    await ended(mine);
    expect(await one.isRefused()).toBe(true);
    expect(await other.run('echo still')).toBe('still\n');
    expect(isAlive(theirs)).toBe(true);
    expect(platform.closed).toBe(false);
  } finally {
    theirs.kill();
    await ended(theirs);
  }
});
