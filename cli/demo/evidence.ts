import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import { exec } from '../../host/os/exec.ts';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import type { Installation } from '../../worker/installation.ts';
import type { Io } from '../terminal/io.ts';

/** Result of one check with a plain tool, independent of the workflows' reports. */
interface Evidence {
  /** Command or path. */
  lookedAt: string;
  found: boolean;
}

/** Reports whether its proof names every layer as absent. */
export function isProvedGone({ proof }: Sandbox): boolean {
  return proof !== null && unprovenLayers(proof.observations).length === 0;
}

/**
 * Searches the machine itself for a sandbox's name.
 * @throws ExecError or the file system's error: a failed search does not count as absence
 */
export async function gatherEvidence(installation: Installation, sandboxId: string): Promise<Evidence[]> {
  const { libvirtUri, leaseFiles, sandboxesDir, credentialsDir } = installation.describe();
  const looks = [
    ...(libvirtUri === null ? [] : [domains(libvirtUri, sandboxId)]),
    processes(sandboxId),
    ...leaseFiles.map((path) => file(path, sandboxId)),
    folder(sandboxesDir, sandboxId),
    folder(credentialsDir, sandboxId),
  ];
  return Promise.all(looks);
}

async function domains(uri: string, sandboxId: string): Promise<Evidence> {
  const { stdout } = await exec('virsh', ['-c', uri, 'list', '--all', '--name']);
  return { lookedAt: 'virsh list --all --name', found: stdout.split('\n').includes(sandboxId) };
}

/** Searches the command lines of all processes: QEMU, sshd and their helpers carry the name. */
async function processes(sandboxId: string): Promise<Evidence> {
  let found = false;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    found ||= (await absentIfMissing(readFile(join('/proc', pid, 'cmdline'), 'utf8'), '')).includes(sandboxId);
  }
  return { lookedAt: 'the command lines in /proc', found };
}

async function file(path: string, sandboxId: string): Promise<Evidence> {
  const text = await absentIfMissing(readFile(path, 'utf8'), '');
  return { lookedAt: path, found: text.includes(sandboxId) };
}

async function folder(path: string, sandboxId: string): Promise<Evidence> {
  const names = await absentIfMissing(readdir(path), []);
  return { lookedAt: `ls ${join(path, sandboxId)}`, found: names.some((name) => name.includes(sandboxId)) };
}

/** Returns `absent` for ENOENT, and for ESRCH of a process that ends while it is read. */
async function absentIfMissing<T>(read: Promise<T>, absent: T): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return absent;
    throw error;
  }
}

const POLL_MS = 100;

/** Polls until `read` returns an object; a string is the reason to wait, printed when it changes. */
export async function poll<T extends object>(io: Io, read: () => Promise<T | string>): Promise<T> {
  for (let reason = ''; ; await sleep(POLL_MS, undefined, { signal: io.signal })) {
    const result = await read();
    if (typeof result !== 'string') return result;
    if (result !== reason && result !== '') io.note(`  waits for ${io.paint('dim', result)}`);
    reason = result;
  }
}
