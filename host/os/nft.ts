import { exec } from './exec.ts';

/** All of it or, when one line is refused, nothing. @throws ExecError without root's rights, or nftables */
export async function loadRules(text: string): Promise<void> {
  await exec('nft', ['--file', '-'], { input: text });
}

/** Removes tables, each named as `<family> <name>`; succeeds when there are none. @throws ExecError */
export async function removeTables(tables: readonly string[]): Promise<void> {
  // adding a table that is there changes nothing, so deleting it then never fails for want of one
  await loadRules(tables.map((table) => `add table ${table}\ndelete table ${table}\n`).join(''));
}

/** A table with its chains, rules and sets as nft lists it, without what its sets hold. */
type Listing = ReadonlyMap<string, string>;

/**
 * How nft lists these rules once they are loaded, by table (`<family> <name>`): found out in a network namespace that nobody is in,
 * since nft writes them in another way than they were given.
 * @throws ExecError without root's rights, or nftables
 */
export async function listingOf(rules: string): Promise<Listing> {
  const script = 'nft --file - && exec nft --terse list ruleset';
  return byTable((await exec('unshare', ['--net', '--', 'sh', '-c', script], { input: rules })).stdout);
}

/** Those of these tables that are not there, or not as they should be. @throws ExecError */
export async function changedTables(wished: Listing): Promise<string[]> {
  const present = byTable((await exec('nft', ['--terse', 'list', 'ruleset'])).stdout);
  return [...wished].filter(([name, table]) => present.get(name) !== table).map(([name]) => name);
}

function byTable(listed: string): Map<string, string> {
  return new Map([...listed.matchAll(/^table (\S+ \S+) \{\n.*?^\}/gms)].map(([table, name = '']) => [name, table]));
}
