import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { dial } from '../../../../host/guest/dial.ts';
import { exec } from '../../../../host/os/exec.ts';
import { validBefore } from '../../../../host/ssh/certificate-validity.ts';
import { CERTIFICATE_FILE } from '../../../../host/ssh/credentials.ts';
import { builtAgent, GuestMachine, readGuestFile } from '../../../host/guest/machine.ts';
import { newId, stepContext } from '../../../host/simulated/machine.ts';

let machine: GuestMachine;

beforeAll(async () => {
  machine = await GuestMachine.start();
});
afterAll(() => machine?.stop());

const ours: string[] = [];
afterEach(async () => {
  for (const id of ours.splice(0)) {
    machine.guests.close(id);
    await machine.host.destroy(id);
  }
});

async function boot(): Promise<string> {
  const id = newId();
  ours.push(id);
  await machine.boot(id);
  return id;
}

const rootOf = (id: string) => join(machine.host.state.workspace(id), 'root');
const leaseFile = () => join(machine.host.state.root, 'simulated.leases');

/** Swaps the addresses of two ids in the lease file, as dnsmasq may after a release. */
async function swapLeases(one: string, other: string): Promise<void> {
  const lines = (await readFile(leaseFile(), 'utf8')).trim().split('\n');
  const fieldsOf = (id: string) => lines.find((line) => line.endsWith(id))?.split(' ') ?? [];
  const [first, second] = [fieldsOf(one), fieldsOf(other)];
  const swapped = [
    [first[0], second[1], one],
    [second[0], first[1], other],
  ];
  const rest = lines.filter((line) => !line.endsWith(one) && !line.endsWith(other));
  await writeFile(leaseFile(), [...rest, ...swapped.map((fields) => fields.join(' ')), ''].join('\n'));
}

test('concurrent callers share one connection, over which the agent answers', async () => {
  const id = await boot();
  const sessions = await Promise.all(Array.from({ length: 20 }, () => machine.agent(id)));
  expect(new Set(sessions).size).toBe(1);
  const [agent] = sessions;
  if (!agent) throw new Error('no session');
  expect(await machine.agent(id)).toBe(agent);
  const { status, body } = await agent.request({ method: 'GET', path: '/v1/health' });
  expect(status).toBe(200);
  expect(JSON.parse(Buffer.concat(await body.toArray()).toString())).toMatchObject({ version: builtAgent().version });
  expect(await readGuestFile(agent, '/etc/hostname')).toBe(`${id}\n`);
});

test("output of the guest's start-up files is not taken for the agent", async () => {
  const id = await boot();
  await appendFile(join(rootOf(id), 'etc', 'bash.bashrc'), 'echo welcome; echo to the machine >&2\n');
  await writeFile(join(rootOf(id), 'home', 'sandbox', '.bashrc'), 'echo hello\n');
  expect(await readGuestFile(await machine.agent(id), '/etc/hostname')).toBe(`${id}\n`);
});

test('sandboxes that swap addresses get their own requests, before and after', async () => {
  const [one, other] = [await boot(), await boot()];
  const { hypervisor } = machine.host;
  expect(await readGuestFile(await machine.agent(one), '/etc/hostname')).toBe(`${one}\n`);
  const before = await Promise.all([one, other].map((id) => hypervisor.whereabouts(id)));
  await Promise.all([hypervisor.removeDomain(one), hypervisor.removeDomain(other)]);
  await swapLeases(one, other);
  await Promise.all([hypervisor.bootDomain(one, stepContext()), hypervisor.bootDomain(other, stepContext())]);
  const after = await Promise.all([one, other].map((id) => hypervisor.whereabouts(id)));
  expect(after.map(({ lease }) => lease?.address)).toEqual(before.map(({ lease }) => lease?.address).reverse());
  for (const id of [one, other]) expect(await readGuestFile(await machine.agent(id), '/etc/hostname')).toBe(`${id}\n`);
});

test('a lease that points to another machine keeps open connections, and misdirects no new one', async () => {
  const [one, other] = [await boot(), await boot()];
  const kept = await machine.agent(one);
  await swapLeases(one, other);
  expect(await readGuestFile(kept, '/etc/hostname')).toBe(`${one}\n`);
  expect(await machine.agent(one)).toBe(kept);
  await expect(machine.agent(other)).rejects.toMatchObject({ code: 'host_key_mismatch' });

  let failures = 0;
  const alive = () => {
    if (++failures === 1) void swapLeases(one, other);
  };
  const found = await machine.agent(other, { signal: stepContext().signal, alive });
  expect(failures).toBeGreaterThan(0);
  expect(await readGuestFile(found, '/etc/hostname')).toBe(`${other}\n`);
});

test('a machine that is off or missing is reported at once', async () => {
  const id = await boot();
  const session = await machine.agent(id);
  const closed = new Promise<void>((resolve) => session.onClose(resolve));
  await machine.host.hypervisor.removeDomain(id);
  await closed;
  const failures: string[] = [];
  const context = { signal: stepContext().signal, alive: (detail: string) => void failures.push(detail) };
  await expect(machine.agent(id, context)).rejects.toMatchObject({ code: 'guest_unreachable', message: /is off/ });
  await machine.host.hypervisor.removeWorkspace(id);
  await expect(machine.agent(id, context)).rejects.toMatchObject({ code: 'sandbox_ended' });
  expect(failures).toEqual([]); // without a retry after a pause
});

test('a certificate near its end is replaced before the login, a rejected one once after it', async () => {
  const id = await boot();
  const directory = machine.host.credentials.directory(id);
  const sign = async (validity: string, principal: string) => {
    const names = ['-q', '-s', join(machine.host.state.root, 'ca', 'user_ca'), '-I', 'test', '-n', principal];
    await exec('ssh-keygen', [...names, '-V', validity, join(directory, 'id_ed25519.pub')]);
  };
  const certificate = () => readFile(join(directory, CERTIFICATE_FILE), 'utf8');
  await sign('-1m:+20s', id);
  expect(validBefore(await certificate()) - Date.now()).toBeLessThan(21_000);
  machine.renewals = 0;
  (await machine.agent(id)).close();
  expect(machine.renewals).toBe(1);
  expect(validBefore(await certificate()) - Date.now()).toBeGreaterThan(1_700_000);
  (await machine.agent(id)).close();
  expect(machine.renewals).toBe(1);

  await sign('-1m:+10m', newId());
  (await machine.agent(id)).close();
  expect(machine.renewals).toBe(2);

  await writeFile(join(rootOf(id), 'etc', 'ssh', 'mayfly_principals'), `${newId()}\n`);
  const failures: string[] = [];
  const context = { signal: stepContext().signal, alive: (detail: string) => void failures.push(detail) };
  await expect(machine.agent(id, context)).rejects.toMatchObject({
    code: 'guest_unreachable',
    message: /ended at auth/,
  });
  expect(machine.renewals).toBe(3);
  const again = expect.stringContaining('attempt 1 failed (auth)'); // no second attempt, which follows a pause
  expect(failures).toEqual([again, again]);
});

test('a close ends the connection and its requests, and a cut body is an error', async () => {
  const id = await boot();
  const agent = await machine.agent(id);
  const { body } = await agent.request({ method: 'GET', path: `/v1/files?path=${zeros}` });
  await once(body, 'data');
  machine.guests.close(id);
  await expect(body.toArray()).rejects.toMatchObject({ code: 'guest_unreachable' });
  await expect(agent.request({ method: 'GET', path: '/v1/health' })).rejects.toMatchObject({
    code: 'guest_unreachable',
  });
  const again = await machine.agent(id);
  expect(again).not.toBe(agent);
  const lost = await again.request({ method: 'GET', path: `/v1/files?path=${zeros}` });
  await once(lost.body, 'data');
  await machine.host.hypervisor.removeDomain(id);
  await expect(lost.body.toArray()).rejects.toMatchObject({ code: 'guest_unreachable' });
});

test('a connection to a suspended guest, which never closes its side, is dropped', async () => {
  const id = await boot();
  await machine.agent(id);
  const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
  expect(sockets()).toBeGreaterThan(0);
  await machine.host.hypervisor.pause(id);
  machine.guests.close(id);
  await expect.poll(sockets).toBe(0);
  await machine.host.hypervisor.resume(id);
});

const zeros = Buffer.from('/usr/bin/node').toString('base64url');

test('a refusal before the end of the upload is the answer', async () => {
  const agent = await machine.agent(await boot());
  const path = `/v1/files?path=${Buffer.from('/home/sandbox/none/file').toString('base64url')}`;
  for (let times = 0; times < 50; times++) {
    const body = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(65_536)));
    const answer = await agent.request({ method: 'PUT', path, body });
    expect(answer.status).toBe(404);
    expect(JSON.parse((await answer.body.toArray()).join(''))).toMatchObject({ code: 'file_not_found' });
  }
});

test('a request ends with the reason of its signal, also in its body, and the connection stays open', async () => {
  const id = await boot();
  const agent = await machine.agent(id);
  const stop = new AbortController();
  const upload = agent.request({
    method: 'PUT',
    path: `/v1/files?path=${Buffer.from('/home/sandbox/endless').toString('base64url')}&mode=0644`,
    body: Readable.from(endless()),
    signal: stop.signal,
  });
  stop.abort(new Error('enough'));
  await expect(upload).rejects.toThrow('enough');
  const stopBody = new AbortController();
  const { body } = await agent.request({ method: 'GET', path: `/v1/files?path=${zeros}`, signal: stopBody.signal });
  await once(body, 'data');
  stopBody.abort(new Error('enough of it'));
  await expect(body.toArray()).rejects.toThrow('enough of it');
  expect(await readGuestFile(agent, '/etc/hostname')).toBe(`${id}\n`);
  expect(await machine.agent(id)).toBe(agent);
});

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(65_536);
}

test('a caller that stops waiting is released; the next one connects again', async () => {
  const id = await boot();
  const stop = new AbortController();
  const waiting = machine.agent(id, { signal: stop.signal, alive: () => {} });
  stop.abort(new Error('no time'));
  await expect(waiting).rejects.toThrow('no time');
  expect(await readGuestFile(await machine.agent(id), '/etc/hostname')).toBe(`${id}\n`);
});

test('a guest that does not listen yet is retried after two seconds, unless the caller has left', async () => {
  const id = await boot();
  const { hypervisor, credentials } = machine.host;
  const { lease, domain } = await hypervisor.whereabouts(id);
  if (!lease) throw new Error('no lease');
  let looks = 0;
  const whereabouts = () => Promise.resolve({ domain, lease: { ...lease, ...(++looks === 1 && { port: 9 }) } });
  const identity = machine.identities.get(id);
  if (!identity) throw new Error('no identity');
  const renew = () => Promise.reject(new Error('not needed'));
  const deps = { hypervisor: { whereabouts }, credentials, identify: () => Promise.resolve(identity), renew };
  const said: string[] = [];
  const alive = (detail: string) => said.push(detail);
  const { client } = await dial(deps, id, { signal: stepContext().signal, alive });
  client.end();
  expect(said).toEqual([expect.stringMatching(/attempt 1 failed \(tcp\): .*ECONNREFUSED/)]);

  looks = 0;
  const stop = new AbortController();
  const waiting = dial(deps, id, { signal: stop.signal, alive: () => stop.abort(new Error('too late')) });
  await expect(waiting).rejects.toThrow('too late');
});
