import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exec } from '../../host/os/exec.ts';
import { getServerGroup, guardAddress, isGuarded, ownAddress, unguard } from '../../worker/servers/loopback-guard.ts';
import { freePort } from '../../worker/servers/server-process.ts';
import { connectAs, connectAsNobody } from '../support/local-user.ts';

const ip = ownAddress('/a state folder of this test');
const group = getServerGroup(ip);

let server: Server;
let port: number;

beforeAll(async () => {
  port = await freePort(ip);
  server = createServer((socket) => socket.end()).listen(port, ip);
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await unguard(ip);
});

// ~1 s. A server that only accepts connections replaces Temporal.
describe('the guard of a loopback address', () => {
  it("redirects connections of the server's group from 127.0.0.1 to the address, and no others", async () => {
    await guardAddress(ip);
    const openAddress = [{ host: '127.0.0.1', port }];
    expect(await connectAs(0, group, openAddress)).toEqual(['connected']);
    expect(await connectAs(0, 0, openAddress)).toEqual(['ECONNREFUSED']);
    expect(await connectAs(0, 0, [{ host: ip, port }])).toEqual(['connected']);
  });

  it('refuses another user, even with the group of the server', async () => {
    const both = [
      { host: '127.0.0.1', port },
      { host: ip, port },
    ];
    expect(await connectAsNobody(both)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
    expect(await connectAsNobody(both, group)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
  });

  it.each(['dial', 'output', 'input'])('is incomplete when its chain %s is empty', async (chain) => {
    await guardAddress(ip);
    expect(await isGuarded(ip, [0])).toBe(true);
    await exec('nft', ['flush', 'chain', 'inet', `mayfly_${ip.replaceAll('.', '_')}`, chain]);
    expect(await isGuarded(ip, [0])).toBe(false);
  });

  it('has a distinct group for each address, above those of users and containers', () => {
    expect(getServerGroup('127.64.0.1')).toBe(2_134_900_737);
    expect(getServerGroup('127.127.255.254')).toBeLessThan(2 ** 31 - 1);
  });
});
