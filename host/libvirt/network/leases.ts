import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import { orAbsent } from '../../os/absent.ts';
import { ExecError, exec } from '../../os/exec.ts';

/** Lease as libvirt's leases helper stores it for dnsmasq: the data of `virsh net-dhcp-leases`. */
export interface DhcpLease {
  bridge: string;
  address: string;
  macAddress: string;
  hostname: string | null;
  clientId: string | null;
  /** Seconds since 1970; null for a lease without end. */
  expiresAt: number | null;
}

/** Timeout of a release: dnsmasq handles it at once, then its helper rewrites the file. Milliseconds. */
const RELEASE_TIMEOUT_MS = 5_000;
const LOOK_EVERY_MS = 5;

/** IPv4 leases of libvirt's networks, read from the files of its leases helper. */
export class Leases {
  /**
   * @param folder libvirt's dnsmasq folder, `/var/lib/libvirt/dnsmasq`
   * @param bridges of our networks
   */
  constructor(
    readonly folder: string,
    private readonly bridges: readonly string[],
  ) {}

  /** Files that {@link all} reads. */
  get files(): string[] {
    return this.bridges.map((bridge) => join(this.folder, `${bridge}.status`));
  }

  async all(): Promise<DhcpLease[]> {
    const found = await Promise.all(this.bridges.map((bridge) => this.#of(bridge)));
    return found.flat();
  }

  async find(macs: ReadonlySet<string>): Promise<DhcpLease[]> {
    return (await this.all()).filter((lease) => macs.has(lease.macAddress));
  }

  /**
   * Returns the lease of a MAC that ends last: after a renewal under another client id there are several. An expired
   * lease stays listed until the next request, while dnsmasq gives its address away: it does not count.
   */
  async current(macAddress: string): Promise<DhcpLease | null> {
    const end = (lease: DhcpLease) => lease.expiresAt ?? Number.POSITIVE_INFINITY;
    const now = Date.now() / 1000;
    const valid = (await this.find(new Set([macAddress]))).filter((lease) => end(lease) > now);
    return valid.reduce<DhcpLease | null>((a, b) => (a && end(a) >= end(b) ? a : b), null);
  }

  /**
   * Releases the leases of these MACs with dnsmasq, and waits until none is listed.
   * @throws MayflyError cleanup_incomplete when one is still listed after 5 s.
   */
  async release(macs: ReadonlySet<string>): Promise<void> {
    const deadline = Date.now() + RELEASE_TIMEOUT_MS;
    let problem = '';
    for (let left = await this.find(macs); left.length > 0; left = await this.find(macs)) {
      if (Date.now() > deadline) {
        const which = left.map((lease) => `${lease.address} on ${lease.bridge}`).join(', ');
        throw new MayflyError('cleanup_incomplete', `dnsmasq has not let go of the lease ${which}. ${problem}`.trim());
      }
      for (const lease of left) problem = (await releaseOne(lease)) ?? problem;
      for (let looks = 0; looks < 40 && (await this.find(macs)).length > 0; looks++) await delay(LOOK_EVERY_MS);
    }
  }

  async #of(bridge: string): Promise<DhcpLease[]> {
    const text = await orAbsent(readFile(join(this.folder, `${bridge}.status`), 'utf8'));
    if (text === null || text.trim() === '') return [];
    const content: unknown = JSON.parse(text);
    if (!Array.isArray(content)) throw new TypeError(`${bridge}.status is not a list of leases`);
    return content.flatMap((entry) => leaseOf(bridge, entry));
  }
}

function leaseOf(bridge: string, entry: unknown): DhcpLease[] {
  const fields: Partial<Record<string, unknown>> = typeof entry === 'object' && entry !== null ? { ...entry } : {};
  const text = (key: string) => (typeof fields[key] === 'string' ? fields[key] : null);
  const address = text('ip-address');
  const macAddress = text('mac-address');
  if (address === null || macAddress === null) return [];
  const lease = { bridge, address, macAddress: macAddress.toLowerCase() };
  const expiry = fields['expiry-time'];
  // libvirt's helper writes 0 for a lease without end (virLeaseNew in src/util/virlease.c)
  const expiresAt = typeof expiry === 'number' && expiry > 0 ? expiry : null;
  return [{ ...lease, hostname: text('hostname'), clientId: text('client-id'), expiresAt }];
}

/** Returns the error text, or null. The caller decides by the list of leases. */
async function releaseOne(lease: DhcpLease): Promise<string | null> {
  const clientId = lease.clientId === null ? [] : [lease.clientId];
  try {
    await exec('dhcp_release', [lease.bridge, lease.address, lease.macAddress, ...clientId]);
    return null;
  } catch (error) {
    if (error instanceof ExecError) return error.message;
    throw error;
  }
}
