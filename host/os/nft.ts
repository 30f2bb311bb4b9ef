import { exec } from './exec.ts';

/** Loads rules atomically. @throws ExecError when a line is refused, or without root's rights or nftables */
export async function loadRules(text: string): Promise<void> {
  await exec('nft', ['--file', '-'], { input: text });
}

/** Removes tables, each named as `<family> <name>`; missing ones are ignored. @throws ExecError */
export async function removeTables(tables: readonly string[]): Promise<void> {
  // adding an existing table changes nothing, so the deletion never fails for a missing one
  await loadRules(tables.map((table) => `add table ${table}\ndelete table ${table}\n`).join(''));
}

/** Table with its chains, rules and sets as nft lists it, without the elements of sets. */
type Listing = ReadonlyMap<string, string>;

/**
 * Returns the listing of these rules by table (`<family> <name>`), by loading them in an empty network namespace: nft
 * lists rules in another form than they were written.
 * @throws ExecError without root's rights, or nftables
 */
export async function listRules(rules: string): Promise<Listing> {
  const script = 'nft --file - && exec nft --terse list ruleset';
  return byTable((await exec('unshare', ['--net', '--', 'sh', '-c', script], { input: rules })).stdout);
}

/** Returns the tables that are missing or differ. @throws ExecError */
export async function changedTables(wished: Listing): Promise<string[]> {
  const present = byTable((await exec('nft', ['--terse', 'list', 'ruleset'])).stdout);
  return [...wished].filter(([name, table]) => present.get(name) !== table).map(([name]) => name);
}

function byTable(listed: string): Map<string, string> {
  return new Map([...listed.matchAll(/^table (\S+ \S+) \{\n.*?^\}/gms)].map(([table, name = '']) => [name, table]));
}
