import { createHash } from 'node:crypto';
import { ExecError, exec } from '../../host/os/exec.ts';
import { changedTables, listingOf, loadRules, removeTables } from '../../host/os/nft.ts';
import { joinGroup } from './server-process.ts';

/** Where a server is that nobody guards. */
export const OPEN_ADDRESS = '127.0.0.1';

/**
 * The loopback address of one installation: every address of 127.0.0.0/8 is the machine's own (RFC 6890). Temporal's dev server
 * authenticates nobody, and has six or seven ports, most of which it chooses itself; on an address of its own one rule that is
 * loaded before it starts covers all of them.
 */
export function ownAddress(stateDir: string): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(stateDir).digest();
  return `127.${64 + (a % 64)}.${b}.${1 + (c % 254)}`;
}

/**
 * Group id that marks the connections of the server at this address: the address as a number. Ids from 1879048192 to
 * 2147483647 belong to no user, no container and no distribution (systemd, UIDS-GIDS).
 */
export function getServerGroup(ip: string): number {
  return Buffer.from(ip.split('.').map(Number)).readUInt32BE();
}

/**
 * Lets only root and our own user open a connection to this address, and nobody from another machine. Established connections pass:
 * packets of a socket that its process has closed have no user any more (`meta skuid`, nft(8)).
 *
 * The services of the server listen on the address of `--ip` and dial each other at 127.0.0.1, so what the server's group
 * dials there goes to the address. Other users gain nothing by the group: the filter comes after the translation.
 */
function guardRules(ip: string, uid: number): string {
  const table = `inet ${tableOf(ip)}`;
  const users = [...new Set([0, uid])].join(', ');
  return `table ${table}
delete table ${table}
table ${table} {
  chain dial {
    type nat hook output priority -100; policy accept;
    meta skgid ${getServerGroup(ip)} ip daddr ${OPEN_ADDRESS} dnat ip to ${ip}
  }
  chain output {
    type filter hook output priority filter - 1; policy accept;
    ip daddr != ${ip} accept
    tcp flags & (syn | ack) != syn accept
    meta skuid { ${users} } accept
    reject
  }
  chain input {
    type filter hook input priority filter - 1; policy accept;
    iifname != "lo" ip daddr ${ip} drop
  }
}
`;
}

/**
 * Loads the rules of {@link guardRules}, where a server can be started with the group that they name.
 * @throws ExecError without root's rights or nftables, and in a container that maps too few group ids
 */
export async function guardAddress(ip: string): Promise<void> {
  await exec('setpriv', [...joinGroup(getServerGroup(ip)), '--', 'true']);
  await loadRules(guardRules(ip, process.geteuid?.() ?? 0));
}

/** Removes what {@link guardAddress} loaded; succeeds when there is nothing. */
export async function unguard(ip: string): Promise<void> {
  if (ip === OPEN_ADDRESS) return;
  await removeTables([`inet ${tableOf(ip)}`]);
}

/**
 * Whether the rules of {@link guardAddress} are there, each as it was loaded. What could not be looked at is taken for open.
 * @param uids of whom they may have been loaded for
 */
export async function isGuarded(ip: string, uids: readonly number[]): Promise<boolean> {
  try {
    for (const uid of uids) if ((await changedTables(await listingOf(guardRules(ip, uid)))).length === 0) return true;
    return false;
  } catch (error) {
    if (error instanceof ExecError) return false;
    throw error;
  }
}

function tableOf(ip: string): string {
  return `mayfly_${ip.replaceAll('.', '_')}`;
}
