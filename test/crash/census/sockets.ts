import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CensusPlace, type Finding, idIn } from './finding.ts';

/** 127.64.0.0/10, where only machines of a simulated host listen. */
const FIRST = 0x7f_40_00_00;
const LAST = 0x7f_7f_ff_ff;
const LISTENING = '0A';

/** Finds sockets of this network namespace with Mayfly's names or addresses (proc(5)). @param places all hosts in it */
export async function socketsIn(places: readonly CensusPlace[]): Promise<Finding[]> {
  const [unix, tcp, leaseFiles, ofSources] = await Promise.all([
    readFile('/proc/net/unix', 'utf8'),
    readFile('/proc/net/tcp', 'utf8'),
    Promise.all(places.map(({ stateDir }) => readFile(join(stateDir, 'simulated.leases'), 'utf8').catch(() => ''))),
    Promise.all(places.map(addressesOfSources)),
  ]);
  const leases = leaseFiles.join('\n');
  const sources = new Set(ofSources.flatMap((addresses) => [...addresses]));
  const named = unix
    .split('\n')
    .map((line) => line.trim().split(/\s+/)[7] ?? '')
    .filter((path) => idIn(path) !== null)
    .map((path): Finding => ({ kind: 'socket', id: idIn(path), where: path }));
  const heard = listenersIn(tcp)
    .filter((address) => !sources.has(address))
    .map((address): Finding => {
      const lease = leases.split('\n').find((line) => line.split(' ').includes(address)) ?? '';
      return { kind: 'socket', id: idIn(lease), where: `somebody listens on ${address}` };
    });
  return [...named, ...heard];
}

function listenersIn(table: string): string[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const value = Number.parseInt(local.slice(0, 8).match(/../g)?.reverse().join('') ?? '', 16);
    if (state !== LISTENING || !(value >= FIRST && value <= LAST)) return [];
    return [[24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')];
  });
}

async function addressesOfSources({ stateDir }: CensusPlace): Promise<Set<string>> {
  const images = join(stateDir, 'images');
  const names = await readdir(images).catch(() => []);
  const texts = await Promise.all(
    names.map((name) => readFile(join(images, name, 'running.json'), 'utf8').catch(() => '')),
  );
  return new Set(texts.flatMap((text) => text.match(/127(?:\.\d+){3}/g) ?? []));
}
