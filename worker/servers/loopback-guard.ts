import { createHash } from 'node:crypto';
import { ExecError, exec } from '../../host/os/exec.ts';
import { changedTables, listRules, loadRules, removeTables } from '../../host/os/nft.ts';
import { joinGroup } from './server-process.ts';

/** Address of an unguarded server. */
export const OPEN_ADDRESS = '127.0.0.1';

/**
 * Returns the loopback address of one installation: every address of 127.0.0.0/8 is the machine's own (RFC 6890).
 * Temporal's dev server has no authentication, and six or seven ports, most of which it chooses itself; with its own
 * address, one rule loaded before it starts covers all of them.
 */
export function ownAddress(stateDir: string): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(stateDir).digest();
  return `127.${64 + (a % 64)}.${b}.${1 + (c % 254)}`;
}

/**
 * Returns the group id that marks connections of the server at this address: the address as a number. Ids from
 * 1879048192 to 2147483647 belong to no user, container or distribution (systemd, UIDS-GIDS).
 */
export function getServerGroup(ip: string): number {
  return Buffer.from(ip.split('.').map(Number)).readUInt32BE();
}

/**
 * Builds the rules that let only root and Mayfly's user of this machine connect to this address. Established
 * connections pass: packets of a socket that its process has closed have no user (`meta skuid`, nft(8)).
 *
 * The services of the server listen on the address of `--ip` but dial each other at 127.0.0.1, so connections of the
 * server's group are redirected. Other users gain nothing by the group: the filter comes after the translation.
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
 * Loads the rules of {@link guardRules}, if a server can be started with their group.
 * @throws ExecError without root's rights or nftables, and in a container that maps too few group ids
 */
export async function guardAddress(ip: string): Promise<void> {
  await exec('setpriv', [...joinGroup(getServerGroup(ip)), '--', 'true']);
  await loadRules(guardRules(ip, process.geteuid?.() ?? 0));
}

/** Removes the rules of {@link guardAddress}; succeeds when there are none. */
export async function unguard(ip: string): Promise<void> {
  if (ip === OPEN_ADDRESS) return;
  await removeTables([`inet ${tableOf(ip)}`]);
}

/**
 * Reports whether the rules of {@link guardAddress} are loaded unchanged; false when they cannot be read.
 * @param uids users for which they may have been loaded
 */
export async function isGuarded(ip: string, uids: readonly number[]): Promise<boolean> {
  try {
    for (const uid of uids) if ((await changedTables(await listRules(guardRules(ip, uid)))).length === 0) return true;
    return false;
  } catch (error) {
    if (error instanceof ExecError) return false;
    throw error;
  }
}

function tableOf(ip: string): string {
  return `mayfly_${ip.replaceAll('.', '_')}`;
}
