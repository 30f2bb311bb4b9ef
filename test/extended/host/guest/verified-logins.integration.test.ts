import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createSshActivities } from '../../../../activities/sandbox/ssh.ts';
import { withStepContext } from '../../../../activities/step/step-context.ts';
import { GuestConnections } from '../../../../host/guest/connections.ts';
import { VerifiedLogins } from '../../../../host/guest/verified-logins.ts';
import type { DomainLocation } from '../../../../host/hypervisor.ts';
import { CERTIFICATE_FILE } from '../../../../host/ssh/credentials.ts';
import { verifySsh } from '../../../../host/ssh/verify.ts';
import { MayflyError } from '../../../../model/errors.ts';
import type { SshEndpoint } from '../../../../model/sandbox/sandbox.ts';
import { builtAgent, GuestMachine, readGuestFile } from '../../../host/guest/machine.ts';
import { newId, stepContext } from '../../../host/simulated/machine.ts';

/** Kinds of hosts: only where a login costs a second, the agent is contacted at once. Guests boot at once here. */
const KINDS = ['simulated', 'libvirt'] as const;

let machine: GuestMachine;
let guests: GuestConnections;
let looks: number;
const ours: string[] = [];

beforeAll(async () => {
  machine = await GuestMachine.start();
});
afterAll(() => machine?.stop());
afterEach(async () => {
  guests.closeAll();
  for (const id of ours.splice(0)) await machine.host.destroy(id);
});

/** Opens the connections. @param whereabouts `@default` the real ones */
function connections(kind: (typeof KINDS)[number], whereabouts?: () => Promise<DomainLocation>): void {
  const { hypervisor, credentials } = machine.host;
  looks = 0;
  guests = new GuestConnections({
    hypervisor: {
      kind,
      whereabouts: (id) => {
        looks++;
        return whereabouts ? whereabouts() : hypervisor.whereabouts(id);
      },
    },
    credentials,
    agent: builtAgent(),
    identify: (id) => {
      const identity = machine.identities.get(id);
      return identity ? Promise.resolve(identity) : Promise.reject(notRunning());
    },
    renew: (id) => readFile(join(credentials.directory(id), CERTIFICATE_FILE), 'utf8'),
  });
}

const notRunning = () => new MayflyError('sandbox_not_running', 'It is creating.');
const hostnameOf = async (id: string) => readGuestFile(await guests.agent(id, stepContext()), '/etc/hostname');
const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
const noneIsOpen = () => expect.poll(sockets).toBe(0);

/** Boots a machine that is not verified yet. */
async function boot(): Promise<{ id: string; endpoint: SshEndpoint; running: () => void }> {
  const id = newId();
  ours.push(id);
  const endpoint = await machine.host.boot(id);
  await machine.host.certify(id);
  const running = () => {
    machine.identities.set(id, { user: endpoint.user, hostKey: endpoint.hostKey, verified: true });
  };
  return { id, endpoint, running };
}

async function verified(id: string, endpoint: SshEndpoint): Promise<void> {
  const credentialsDir = machine.host.credentials.directory(id);
  await guests.verify(id, { endpoint, credentialsDir, ...stepContext() });
}

test.each(KINDS)('%s: the first request uses the verified connection, once the sandbox runs', async (kind) => {
  connections(kind);
  const { id, endpoint, running } = await boot();
  await verified(id, endpoint);
  await expect(hostnameOf(id)).rejects.toMatchObject({ code: 'sandbox_not_running' });
  expect(sockets()).toBe(1);
  running();
  const before = looks;
  expect(await Promise.all([hostnameOf(id), hostnameOf(id)])).toEqual([`${id}\n`, `${id}\n`]);
  expect(sockets()).toBe(1);
  expect(looks - before).toBe(kind === 'simulated' ? 1 : 0); // a new login would inspect it, too
  guests.close(id);
  await noneIsOpen();
});

test.each(KINDS)('%s: a sandbox that is destroyed before its first command leaves no connection', async (kind) => {
  connections(kind);
  const { id, endpoint, running } = await boot();
  running();
  await verified(id, endpoint);
  guests.close(id);
  await noneIsOpen();
  await verified(id, endpoint);
  await machine.host.hypervisor.removeDomain(id);
  await noneIsOpen();
  await expect(hostnameOf(id)).rejects.toMatchObject({ code: 'guest_unreachable', message: /is off/ });
});

test.each(KINDS)('%s: a lost connection is replaced silently', async (kind) => {
  connections(kind);
  const { id, endpoint, running } = await boot();
  running();
  await verified(id, endpoint);
  await machine.host.hypervisor.removeDomain(id);
  await machine.host.reboot(id, endpoint);
  expect(await hostnameOf(id)).toBe(`${id}\n`);
});

test.each(KINDS)('%s: another guest at the same address is never mistaken for it', async (kind) => {
  connections(kind);
  const [one, other] = [await boot(), await boot()];
  one.running();
  other.running();
  await verified(one.id, one.endpoint);
  const { hypervisor, state } = machine.host;
  await Promise.all([hypervisor.removeDomain(one.id), hypervisor.removeDomain(other.id)]);
  const leases = join(state.root, 'simulated.leases');
  const lines = (await readFile(leases, 'utf8')).split('\n').filter((line) => !line.endsWith(one.id));
  const { address } = one.endpoint;
  await writeFile(leases, lines.map((line) => (line.endsWith(other.id) ? moved(line, address) : line)).join('\n'));
  await hypervisor.bootDomain(other.id, stepContext());
  expect(await hypervisor.awaitLease(other.id, stepContext())).toMatchObject({ address });
  await expect(hostnameOf(one.id)).rejects.toMatchObject({ code: 'guest_unreachable' });
  expect(await hostnameOf(other.id)).toBe(`${other.id}\n`);
});

function moved(line: string, address: string): string {
  const [expiry, , ...rest] = line.split(' ');
  return [expiry, address, ...rest].join(' ');
}

test('a connection to a paused machine, or to a former address, is dropped', async () => {
  connections('libvirt');
  const { id, endpoint, running } = await boot();
  running();
  await verified(id, endpoint);
  await machine.host.hypervisor.pause(id);
  await expect(hostnameOf(id)).rejects.toMatchObject({ code: 'guest_unreachable', message: /is paused/ });
  await noneIsOpen();
  await machine.host.hypervisor.resume(id);

  const elsewhere = { ...(await machine.host.hypervisor.whereabouts(id)), domain: 'off' as const };
  connections('simulated', () => Promise.resolve(elsewhere));
  await verified(id, endpoint);
  await expect(hostnameOf(id)).rejects.toMatchObject({ code: 'guest_unreachable', message: /is off/ });
  await noneIsOpen();
});

test.each(KINDS)('%s: it is not used with another host key, nor twice, nor after the end', async (kind) => {
  connections(kind);
  const { id, endpoint, running } = await boot();
  await verified(id, endpoint);
  await verified(id, endpoint); // a repeated step
  await expect.poll(sockets).toBe(1);
  const other = (await boot()).endpoint.hostKey;
  machine.identities.set(id, { user: endpoint.user, hostKey: other, verified: true });
  await expect(hostnameOf(id)).rejects.toMatchObject({ code: 'host_key_mismatch' });
  await noneIsOpen();
  running();
  guests.closeAll();
  await verified(id, endpoint);
  await noneIsOpen();
});

test.each(KINDS)('%s: an unused connection is closed after a minute', async (kind) => {
  connections(kind);
  const { id, endpoint } = await boot();
  const logins = new VerifiedLogins({ kind, whereabouts: () => Promise.reject(new Error('not asked')) }, 'none');
  const credentialsDir = machine.host.credentials.directory(id);
  logins.keep(id, { client: await verifySsh({ endpoint, credentialsDir, ...stepContext() }), endpoint });
  logins.closeUnused(Date.now());
  expect(logins.has(id)).toBe(true);
  logins.closeUnused(Date.now() + 61_000);
  expect(logins.has(id)).toBe(false);
  await noneIsOpen();
});

test('a create that is cancelled during or after the verified login leaves no connection', async () => {
  connections('libvirt');
  const { id, endpoint } = await boot();
  const { credentials } = machine.host;
  const certificate = await readFile(join(credentials.directory(id), CERTIFICATE_FILE), 'utf8');
  const activities = {
    ...createSshActivities({ hypervisor: machine.host.hypervisor, credentials, guests }),
    removeCredentials: async ({ sandboxId }: { sandboxId: string; generation: number }) => {
      guests.close(sandboxId);
      await credentials.removeCredentials(sandboxId);
    },
  };
  const input = { sandboxId: id, generation: 1, endpoint, certificate: certificate.trim() };
  const stop = new AbortController();
  const cancelled = { signal: stop.signal, alive: () => stop.abort(new Error('cancelled')) };
  await expect(withStepContext(cancelled, () => activities.verifySsh(input))).rejects.toThrow('cancelled');
  await noneIsOpen();

  await withStepContext(stepContext(), () => activities.verifySsh(input));
  expect(sockets()).toBe(1);
  await activities.removeCredentials({ sandboxId: id, generation: 2 });
  await noneIsOpen();
});
