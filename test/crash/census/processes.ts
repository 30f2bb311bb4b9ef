import { type CensusPlace, type Finding, idIn } from './finding.ts';
import { linkOf, pids, textOf } from './proc.ts';

/**
 * Finds processes with a state file as root, working folder or argument, and those of this network namespace that name
 * one.
 */
export function processesIn({ stateDir }: CensusPlace): Finding[] {
  const here = linkOf('self', 'ns/net');
  return pids().flatMap((pid) => {
    const command = textOf(pid, 'cmdline').replaceAll('\0', ' ').trim();
    if (command === '' || pid === String(process.pid)) return [];
    const folders = [linkOf(pid, 'root'), linkOf(pid, 'cwd')].filter((folder) => folder.startsWith(`${stateDir}/`));
    const isHere = linkOf(pid, 'ns/net') === here;
    const texts = [...folders, ...(isHere || command.includes(`${stateDir}/`) ? [command] : [])];
    const id = texts.map(idIn).find((found) => found !== null);
    return id === undefined ? [] : [{ kind: 'process', id: id ?? null, where: `${pid} ${command.slice(0, 120)}` }];
  });
}

/** Finds mounts in the mount namespaces of all processes. */
export function mountsIn({ stateDir }: CensusPlace): Finding[] {
  const seen = new Set<string>();
  return pids().flatMap((pid) => {
    const namespace = linkOf(pid, 'ns/mnt');
    if (namespace === '' || seen.has(namespace)) return [];
    seen.add(namespace);
    // Mounts seen from another root are a machine's own, and end with its process.
    if (linkOf(pid, 'root') !== '/') return [];
    return textOf(pid, 'mountinfo')
      .split('\n')
      .filter((line) => line.includes(stateDir) && idIn(line) !== null)
      .map((line): Finding => ({ kind: 'mount', id: idIn(line), where: `${namespace} ${line.split(' ')[4]}` }));
  });
}
