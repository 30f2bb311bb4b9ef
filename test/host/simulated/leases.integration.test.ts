import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GUEST_PORT, SimulatedLeases } from '../../../host/simulated/machine/leases.ts';
import { macAddress } from '../../../model/ids.ts';
import { temporaryState } from '../temporary-state.ts';
import { newId } from './machine.ts';

describe('leases of the simulated host', () => {
  let path: string;
  let remove: () => Promise<void>;

  beforeEach(async () => {
    const temporary = await temporaryState();
    path = join(temporary.state.root, 'leases');
    remove = temporary.remove;
  });
  afterEach(() => remove());

  test('each MAC gets one address, also concurrently, and the same one again', async () => {
    const leases = new SimulatedLeases(path);
    const ids = Array.from({ length: 40 }, newId);
    const given = await Promise.all(ids.map((id) => leases.acquire(macAddress(id), id)));
    expect(new Set(given.map((lease) => lease.address)).size).toBe(40);
    for (const { address } of given) expect(address).toMatch(/^127\.(6[4-9]|[789]\d|1[01]\d|12[0-7])\.\d+\.\d+$/);
    const [first = ''] = ids;
    expect(await new SimulatedLeases(path).acquire(macAddress(first), first)).toEqual(given[0]);
  });

  test('a released address may be reused', async () => {
    const leases = new SimulatedLeases(path);
    const mac = '52:54:00:00:00:01';
    const [one, two] = [newId(), newId()];
    const { address } = await leases.acquire(mac, one);
    await expect(leases.acquire(mac, two)).rejects.toMatchObject({ code: 'address_conflict' });
    await leases.release(one);
    await leases.release(one);
    expect((await leases.acquire(mac, two)).address).toBe(address);
  });

  test('an address with a listener is skipped', async () => {
    const leases = new SimulatedLeases(path);
    const [one, two] = [newId(), newId()];
    const mac = macAddress(one);
    const { address } = await leases.acquire(mac, one);
    await leases.release(one);
    const server = createServer().listen(GUEST_PORT, address);
    await once(server, 'listening');
    try {
      expect((await leases.acquire(mac, two)).address).not.toBe(address);
    } finally {
      server.close();
    }
  });

  test('a foreign line fails everything: an address must not be leased twice', async () => {
    await writeFile(path, '52:54:00:00:00:01 127.64.0.1 ../../etc\n');
    await expect(new SimulatedLeases(path).list()).rejects.toThrow('a line that Mayfly did not write');
  });
});
