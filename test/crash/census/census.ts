import { realpath } from 'node:fs/promises';
import { filesIn, leasesIn } from './files.ts';
import { type CensusPlace, type Finding, idIn } from './finding.ts';
import { libvirtIn } from './libvirt.ts';
import { mountsIn, processesIn } from './processes.ts';
import { socketsIn } from './sockets.ts';

/** Everything on this machine that is a sandbox's, a snapshot's or a capture's of these hosts, and what nobody owns up to. */
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

/** What is there of ours of nobody who may have anything, one line each. Of a source, or of a stranger, is not ours. */
export function residueIn(findings: readonly Finding[], mayHave: ReadonlySet<string>): string[] {
  return findings
    .filter(({ id }) => id === null || (idIn(id) !== null && !mayHave.has(id)))
    .map(({ kind, id, where }) => `${kind} of ${id ?? 'nobody'}: ${where}`);
}
