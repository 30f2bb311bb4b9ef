import type { Layer, Observation } from '../../model/proof.ts';
import { entriesOf } from '../directory.ts';
import type { SimulatedLeases } from './leases.ts';
import type { ProcessTable } from './processes.ts';

/** Looks at the layers domain, lease and workspace of one sandbox. */
export async function lookAt(
  sandboxId: string,
  workspace: string,
  { processes, leases }: { processes: ProcessTable; leases: SimulatedLeases },
): Promise<Observation[]> {
  const pids = await processes.of(sandboxId);
  const leased = (await leases.list()).filter((lease) => lease.sandboxId === sandboxId);
  const addresses = leased.map((lease) => lease.address);
  const trees: string[] = [];
  for (const path of [workspace, `${workspace}.new`]) if ((await entriesOf(path)) !== null) trees.push(path);
  return [
    observed('domain', '/proc/*/root and /proc/*/cmdline', pids.map(String)),
    observed('lease', leases.path, addresses),
    observed('workspace', workspace, trees),
  ];
}

function observed(layer: Layer, lookedAt: string, found: string[]): Observation {
  const at = new Date().toISOString();
  if (found.length === 0) return { layer, lookedAt, absent: true, at };
  return { layer, lookedAt, absent: false, found: found.join(', '), at };
}
