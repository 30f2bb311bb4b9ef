import { readdir, readFile, readlink } from 'node:fs/promises';
import { exec } from '../../host/os/exec.ts';
import { eventually } from './eventually.ts';

/** Programs of a libvirtd, by their names in /proc: 15 characters. */
const OF_A_MACHINE = /^(?:libvirtd|dnsmasq|qemu-system-.*)$/;

/** Proves that this network namespace has no other libvirtd, its machines or bridges. @throws Error that names them */
export async function proveCleanSlate(): Promise<void> {
  if (!process.env['MAYFLY_TEST_NETNS']) throw new Error('Run this with npm test, which makes a network namespace.');
  await eventually(programs, ({ length }) => length === 0); // killed processes may still be ending
  const found = [...(await bridges()), ...(await tables())];
  if (found.length === 0) return;
  throw new Error(`What an earlier test file has left here is in the way of this one: ${found.join(', ')}.`);
}

async function bridges(): Promise<string[]> {
  const { stdout } = await exec('ip', ['-brief', 'link', 'show', 'type', 'bridge']);
  return [...stdout.matchAll(/^(mayfly\S*)/gm)].map(([, name]) => `the bridge ${name}`);
}

async function tables(): Promise<string[]> {
  const { stdout } = await exec('nft', ['list', 'tables']);
  return [...stdout.matchAll(/\b(mayfly_\S+)/g)].map(([, name]) => `the nftables table ${name}`);
}

async function programs(): Promise<string[]> {
  const own = await readlink('/proc/self/ns/net');
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const ended = () => ''; // ended since the listing
      const name = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(ended)).trim();
      if (!OF_A_MACHINE.test(name)) return [];
      return (await readlink(`/proc/${pid}/ns/net`).catch(ended)) === own ? [`${name} (process ${pid})`] : [];
    }),
  );
  return found.flat();
}
