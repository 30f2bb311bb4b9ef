import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UserCa } from '../../../../ca/user-ca.ts';
import type { AgentSession } from '../../../../host/guest/agent-session.ts';
import { GuestConnections } from '../../../../host/guest/connections.ts';
import type { Identity } from '../../../../host/guest/dial.ts';
import { CERTIFICATE_FILE, Credentials } from '../../../../host/ssh/credentials.ts';
import { verifySsh } from '../../../../host/ssh/verify.ts';
import type { StepContext } from '../../../../host/step-context.ts';
import { ID_BYTES, macAddress, sandboxIdFrom } from '../../../../model/ids.ts';
import { builtAgent, readGuestFile } from '../../../host/guest/machine.ts';
import { startMachine, type TestMachine } from '../../../host/libvirt/machine.ts';
import { eventually } from '../../../support/eventually.ts';

const id = sandboxIdFrom(randomBytes(ID_BYTES));
let machine: TestMachine;
let guests: GuestConnections;
let identity: Identity;
const said: string[] = [];

const context = (): StepContext => ({ signal: AbortSignal.timeout(180_000), alive: (detail) => said.push(detail) });

beforeAll(async () => {
  machine = await startMachine();
  const ca = await UserCa.open(join(machine.state.root, 'ca'));
  const credentials = new Credentials(machine.state);
  await credentials.open();
  let serial = 0n;
  const renew = async () => {
    const { publicKey } = await credentials.makeCredentials(id);
    const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
    const signed = await ca.sign({ sandboxId: id, publicKey, actor, source: machine.source, serial: ++serial });
    await credentials.storeCertificate(id, signed.certificate);
    return readFile(join(credentials.directory(id), CERTIFICATE_FILE), 'utf8');
  };
  const { host: hypervisor } = machine;
  expect(await hypervisor.whereabouts(id)).toEqual({ domain: 'absent', lease: null });
  const clone = await machine.booted.wake(id, await ca.publicKeys());
  const { address, port } = await hypervisor.awaitLease(id, context());
  await renew();
  const endpoint = { address, port, user: clone.user, hostKey: clone.hostKey };
  (await verifySsh({ endpoint, credentialsDir: credentials.directory(id), ...context() })).end();
  identity = { user: clone.user, hostKey: clone.hostKey, verified: true };
  const identify = () => Promise.resolve(identity);
  guests = new GuestConnections({ hypervisor, credentials, agent: builtAgent(), identify, renew });
});

afterAll(async () => {
  guests?.closeAll();
  await machine?.end();
});

const agent = (): Promise<AgentSession> => guests.agent(id, context());

/** Runs a shell command as root through the agent, and waits for its end. */
async function asRoot(command: string): Promise<void> {
  const session = await agent();
  const commandId = sandboxIdFrom(randomBytes(ID_BYTES)).replace('sbx', 'cmd');
  const spec = { command, argv: null, env: {}, stdin: '', stdinOpen: false, cwd: null, user: 'root' };
  const body = Buffer.from(JSON.stringify({ ...spec, timeoutSeconds: 60, maxOutputBytes: 65_536 }));
  const started = await session.request({ method: 'PUT', path: `/v1/commands/${commandId}`, body });
  expect([started.status, (await started.body.toArray()).toString()]).toEqual([201, expect.any(String)]);
  const output = await session.request({ method: 'GET', path: `/v1/commands/${commandId}/output?stdout=0&stderr=0` });
  await output.body.toArray();
}

test('the golden image has the agent, and where it runs is known', async () => {
  said.length = 0;
  const session = await agent();
  expect(said).toEqual([]);
  expect(await readGuestFile(session, '/etc/hostname')).toBe(`${id}\n`);
  const began = performance.now();
  expect(await machine.host.whereabouts(id)).toMatchObject({
    domain: 'running',
    lease: { macAddress: macAddress(id) },
  });
  process.stderr.write(`whereabouts ${(performance.now() - began).toFixed(0)} ms\n`);
});

test.each([-30_000, 30_000])('the skew of a clock that was set by %i ms is measured at the login', async (setMs) => {
  await asRoot(`date -s @$(($(date +%s) + ${setMs / 1_000}))`);
  guests.close(id);
  const session = await agent();
  const skewMs = await eventually(
    () => session.clockSkewMs,
    (known) => known !== 0,
  );
  expect(Math.abs(skewMs - setMs)).toBeLessThan(15_000);
  await asRoot(`date -s @$(($(date +%s) - ${setMs / 1_000}))`);
  guests.close(id);
});

test('an agent that is missing is brought, as a whole', async () => {
  await asRoot('rm /opt/mayfly/mayfly-agent; systemctl stop mayfly-agent.service --no-block').catch(() => undefined);
  guests.close(id);
  said.length = 0;
  const session = await agent();
  expect(said).toContain('putting the agent into the guest');
  expect(await readGuestFile(session, '/etc/hostname')).toBe(`${id}\n`);
  const { body } = await session.request({ method: 'GET', path: '/v1/health' });
  expect((await body.toArray()).toString()).toContain(builtAgent().version);
});

test('a machine that is paused, or off, is said so at once', async () => {
  guests.close(id);
  await machine.virsh.run(['suspend', id]);
  await expect(agent()).rejects.toMatchObject({ code: 'guest_unreachable', message: expect.stringMatching(/paused/) });
  await machine.virsh.run(['resume', id]);
  expect(await readGuestFile(await agent(), '/etc/hostname')).toBe(`${id}\n`);
  await machine.virsh.run(['destroy', id]);
  guests.close(id); // nobody tells a connection that its other end has lost its power
  await expect(agent()).rejects.toMatchObject({ code: 'guest_unreachable', message: expect.stringMatching(/is off/) });
});
