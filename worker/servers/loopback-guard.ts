import { createHash } from 'node:crypto';
import { ExecError } from '../../host/os/exec.ts';
import { changedTables, listingOf, loadRules, removeTables } from '../../host/os/nft.ts';

/** Where a server is that nobody guards. */
export const OPEN_ADDRESS = '127.0.0.1';

/**
 * The loopback address of one installation: every address of 127.0.0.0/8 is the machine's own (RFC 6890). Temporal's dev server
 * asks nobody who they are, and has six ports, four of which it chooses itself; on an address of its own one rule that is
 * loaded before it starts keeps all of them.
 */
export function ownAddress(stateDir: string): string {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(stateDir).digest();
  return `127.${64 + (a % 64)}.${b}.${1 + (c % 254)}`;
}

/**
 * Lets only root and our own user begin a connection to this address, and nobody from another machine. What belongs to a connection passes:
 * packets of a socket that its process has closed have no user any more (`meta skuid`, nft(8)).
 */
export function guardRules(ip: string, uid: number): string {
  const table = `inet ${tableOf(ip)}`;
  const users = [...new Set([0, uid])].join(', ');
  return `table ${table}
delete table ${table}
table ${table} {
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

/** @throws ExecError without root's rights, or nftables */
export async function guardAddress(ip: string): Promise<void> {
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
