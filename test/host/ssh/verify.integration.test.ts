import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import type { SshEndpoint } from '../../../model/sandbox/sandbox.ts';
import { eventually } from '../../support/eventually.ts';
import { listen } from '../../support/listen.ts';
import { newId, stepContext, TestMachine } from '../simulated/machine.ts';

/** Returns the sockets of this process connected to the port. */
function openSockets(port: number): string[] {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const connections = readFileSync('/proc/self/net/tcp', 'utf8').split('\n');
  const leading = connections.map((line) => line.trim().split(/\s+/)).filter(([, , there]) => there?.endsWith(remote));
  const inodes = new Set(leading.map((fields) => `socket:[${fields[9]}]`));
  return readdirSync('/proc/self/fd')
    .map(linkOf)
    .filter((link) => inodes.has(link));
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return 'closed meanwhile';
  }
}

describe('verifySsh against a real sshd', () => {
  let machine: TestMachine;
  const id = newId();
  const other = newId();
  let endpoint: SshEndpoint;

  beforeAll(async () => {
    machine = await TestMachine.start();
    endpoint = await machine.boot(id);
    await machine.certify(id);
    await machine.certify(other);
  });
  afterAll(() => machine.stop());

  test('logs in with the certificate, repeatedly, and leaves no socket open', async () => {
    for (let i = 0; i < 5; i++) await machine.verify(endpoint, id);
    await eventually(async () => openSockets(endpoint.port), { length: 0 });
  });

  test.concurrent("another sandbox's certificate is rejected, with the reason (caa-013, caa-016)", async () => {
    const rejected = machine.verify(endpoint, other);
    await expect(rejected).rejects.toMatchObject({ code: 'ssh_timeout' });
    await expect(rejected).rejects.toThrow('rejected the certificate of sandbox');
  });

  test.concurrent('another login user is rejected', async () => {
    await expect(machine.verify({ ...endpoint, user: 'root' }, id)).rejects.toMatchObject({ code: 'ssh_timeout' });
  });

  test('another host key is not retried (caa-029)', async () => {
    let tries = 0;
    const context = { ...stepContext(), alive: () => void tries++ };
    const hostKey = makeKeyPair('impostor').publicKey;
    const mismatch = machine.verify({ ...endpoint, hostKey }, id, context);
    await expect(mismatch).rejects.toMatchObject({ code: 'host_key_mismatch', retryable: false });
    expect(tries).toBe(1);
  });

  test('a guest that resets, or speaks another protocol, is retried until the abort', async () => {
    const abort = new AbortController();
    let connections = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      connections++;
      if (connections % 2 === 0) socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      else socket.resetAndDestroy();
      if (connections === 6) abort.abort(new Error('the step ran out of time'));
    });
    await listen(server);
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    try {
      const elsewhere = { ...endpoint, address: '127.0.0.1', port: address.port };
      const verified = machine.verify(elsewhere, id, { signal: abort.signal, alive: () => {} });
      await expect(verified).rejects.toThrow('the step ran out of time');
    } finally {
      server.close();
    }
  });

  test('an sshd that starts later is found', async () => {
    const late = newId();
    await machine.boot(late);
    await machine.certify(late);
    await machine.hypervisor.removeDomain(late);
    const lease = await machine.hypervisor.look(late);
    expect(lease.find((look) => look.layer === 'lease')?.absent).toBe(false);
    const address = lease.find((look) => look.layer === 'lease')?.found ?? '';
    const clone = await machine.hypervisor.cloneDisk(machine.request(late), stepContext());
    let sawRefusal = () => {};
    const refused = new Promise<void>((resolve) => {
      sawRefusal = resolve;
    });
    const alive = (detail: string) => {
      if (detail.includes('ECONNREFUSED')) sawRefusal();
    };
    const target = { address, port: endpoint.port, user: clone.user, hostKey: clone.hostKey };
    const verified = machine.verify(target, late, { ...stepContext(), alive });
    await refused;
    await machine.hypervisor.bootDomain(late, stepContext());
    await verified;
  });
});
