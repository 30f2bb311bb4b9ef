import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Mutex } from 'async-mutex';
import { MayflyError } from '../../../model/errors.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import type { Lease } from '../../hypervisor.ts';
import { orAbsent } from '../../os/absent.ts';

/** sshd's port in every simulated guest: 22 belongs to the host. */
export const GUEST_PORT = 2222;
/** 127.64.0.0/10: loopback addresses that need no setup. */
const FIRST_ADDRESS = 0x7f400000;
const ADDRESS_COUNT = 2 ** 22;
const LINE = /^(?<mac>(?:[0-9a-f]{2}:){5}[0-9a-f]{2}) (?<address>127(?:\.\d{1,3}){3}) (?<id>\S+)$/;

interface SimulatedLease {
  macAddress: string;
  address: string;
  sandboxId: string;
}

/**
 * Leases of loopback addresses by MAC, in one file that is read each time. Like dnsmasq, it begins at a hash of the MAC
 * and takes the next address that is neither leased nor in use.
 */
export class SimulatedLeases {
  readonly #mutex = new Mutex();

  /** @param path of the lease file */
  constructor(readonly path: string) {}

  /** Returns a MAC's lease, made if missing. @throws MayflyError address_conflict when another sandbox has the MAC */
  acquire(macAddress: string, sandboxId: string): Promise<SimulatedLease> {
    return this.#mutex.runExclusive(async () => {
      const leases = await this.list();
      const present = leases.find((lease) => lease.macAddress === macAddress);
      if (present && present.sandboxId !== sandboxId) {
        throw new MayflyError(
          'address_conflict',
          `The MAC ${macAddress} of ${sandboxId} is leased to ${present.sandboxId}.`,
        );
      }
      if (present) return present;
      const taken = new Set(leases.map((lease) => lease.address));
      const lease = { macAddress, address: await freeAddress(macAddress, taken), sandboxId };
      await this.#write([...leases, lease]);
      return lease;
    });
  }

  release(sandboxId: string): Promise<void> {
    return this.#mutex.runExclusive(async () => {
      const leases = await this.list();
      const kept = leases.filter((lease) => lease.sandboxId !== sandboxId);
      if (kept.length < leases.length) await this.#write(kept);
    });
  }

  /** @throws Error for a line not written by Mayfly: no address may be leased twice */
  async list(): Promise<SimulatedLease[]> {
    const lines = ((await orAbsent(readFile(this.path, 'utf8'))) ?? '').split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      const { mac, address, id } = LINE.exec(line)?.groups ?? {};
      if (!mac || !address || !id || !isSandboxId(id)) {
        throw new Error(
          `${this.path} has a line that Mayfly did not write: ${JSON.stringify(line)}. Mend or remove it.`,
        );
      }
      return { macAddress: mac, address, sandboxId: id };
    });
  }

  async #write(leases: SimulatedLease[]): Promise<void> {
    const lines = leases.map((lease) => `${lease.macAddress} ${lease.address} ${lease.sandboxId}\n`);
    // Not synced to the disk: no domain survives a power cut, and its address is free then.
    await writeFile(`${this.path}.new`, lines.join(''), { mode: 0o600 });
    await rename(`${this.path}.new`, this.path);
  }
}

/** Converts to a lease for the steps of a create, dated now. */
export function toLease({ address, macAddress }: SimulatedLease): Lease {
  return { address, port: GUEST_PORT, macAddress, noticedAt: new Date().toISOString() };
}

/** Returns the first address, starting from a hash of `key`, that is neither taken nor in use on this machine. */
export async function freeAddress(key: string, taken: ReadonlySet<string>): Promise<string> {
  const start = createHash('sha256').update(key).digest().readUInt32BE() % ADDRESS_COUNT;
  for (let i = 0; i < ADDRESS_COUNT; i++) {
    const address = formatAddress(FIRST_ADDRESS + ((start + i) % ADDRESS_COUNT));
    if (!taken.has(address) && (await canListen(address))) return address;
  }
  throw new MayflyError('address_conflict', 'Every address of 127.64.0.0/10 is in use on this host.');
}

function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.');
}

/** Tries to listen: another installation on this machine may use the same addresses. */
function canListen(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else
        reject(new MayflyError('host_unavailable', `Cannot listen on ${address}: ${error.message}`, { cause: error }));
    });
    server.listen({ host: address, port: GUEST_PORT, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
