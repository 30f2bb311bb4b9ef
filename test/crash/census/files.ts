import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type CensusPlace, type Finding, type FindingKind, idIn } from './finding.ts';

/** Kind of a finding by folder of the state folder. */
const KINDS: Record<string, FindingKind> = {
  sandboxes: 'workspace',
  credentials: 'credentials',
  reservations: 'reservation',
  snapshots: 'snapshot',
  captures: 'capture',
};
/** Trees of guests, whose contents are not searched. */
const GUEST_TREE = /^images\/[^/]+\/root$/;
/** Log of libvirt. */
const DIARY = /^libvirt\/log\//;
const LEASE = /(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/g;

/** Finds everything below a state folder with an id as name, in any folder; does not search inside. */
export async function filesIn({ stateDir }: CensusPlace): Promise<Finding[]> {
  const found: Finding[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await entriesOf(folder)) {
      const path = join(folder, entry.name);
      const name = relative(stateDir, path);
      const id = idIn(entry.name);
      if (DIARY.test(name)) continue;
      if (id !== null) found.push({ kind: kindOf(entry, name), id, where: path });
      else if (entry.isDirectory() && !GUEST_TREE.test(name)) await walk(path);
    }
  };
  await walk(stateDir);
  return found;
}

function kindOf(entry: Dirent, name: string): FindingKind {
  if (entry.isSocket()) return 'socket';
  return KINDS[name.split('/')[0] ?? ''] ?? 'file';
}

/** Finds leases with their owners, in each file of a DHCP server or its simulation. */
export async function leasesIn({ stateDir }: CensusPlace, ownerOf: (mac: string) => string | null): Promise<Finding[]> {
  const own = join(stateDir, 'simulated.leases');
  const folder = join(stateDir, 'libvirt', 'lib', 'dnsmasq');
  const files = [own, ...(await entriesOf(folder)).map(({ name }) => join(folder, name))];
  const lists = await Promise.all(files.filter((file) => /\.(?:leases|status)$/.test(file)).map(leased));
  return lists.flat().map(({ mac, line, file }): Finding => {
    // The guest chose the name: a wake from a snapshot uses that of the original sandbox.
    const id = ownerOf(mac) ?? idIn(line);
    return { kind: 'lease', id, where: `${file}: ${line.trim().slice(0, 200)}` };
  });
}

/** Splits a list: one lease a line for dnsmasq and ours; one an object in libvirt's JSON. */
async function leased(file: string): Promise<{ mac: string; line: string; file: string }[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const items = file.endsWith('.status') ? text.split('}') : text.split('\n');
  return items.flatMap((line) => (line.match(LEASE) ?? []).slice(0, 1).map((mac) => ({ mac, line, file })));
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
