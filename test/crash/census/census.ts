import { realpath } from 'node:fs/promises';
import { filesIn, leasesIn } from './files.ts';
import { type CensusPlace, type Finding, idIn } from './finding.ts';
import { libvirtIn } from './libvirt.ts';
import { mountsIn, processesIn } from './processes.ts';
import { socketsIn } from './sockets.ts';

/** Lists everything on this machine that belongs to a sandbox, snapshot or capture of these hosts, or has no owner. */
export async function census(given: readonly CensusPlace[]): Promise<Finding[]> {
  const places = await Promise.all(
    given.map(async (place) => ({ ...place, stateDir: await realpath(place.stateDir) })),
  );
  const [sockets, ...ofHosts] = await Promise.all([socketsIn(places), ...places.map(hostCensus)]);
  return [...sockets, ...ofHosts.flat()];
}

async function hostCensus(place: CensusPlace): Promise<Finding[]> {
  const { findings: ofLibvirt, ownerOf } = await libvirtIn(place.libvirtUri);
  const [files, leases] = await Promise.all([filesIn(place), leasesIn(place, ownerOf)]);
  return [...processesIn(place), ...mountsIn(place), ...files, ...leases, ...ofLibvirt];
}

/** Returns the findings without a permitted owner, one line each; those of sources and foreign domains don't count. */
export function residueIn(findings: readonly Finding[], mayHave: ReadonlySet<string>): string[] {
  return findings
    .filter(({ id }) => id === null || (idIn(id) !== null && !mayHave.has(id)))
    .map(({ kind, id, where }) => `${kind} of ${id ?? 'nobody'}: ${where}`);
}
