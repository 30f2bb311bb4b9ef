import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exec } from '../../../host/os/exec.ts';
import type { TestMachine } from './machine.ts';

type Folder = Pick<TestMachine, 'libvirtFolder'>;

async function pidIn({ libvirtFolder }: Folder, file: string): Promise<string> {
  const [pid = ''] = (await readFile(join(libvirtFolder, file), 'utf8')).split(/\s/);
  return pid;
}

/** Kills only the daemon: its holder, the machines and their networks stay. */
export async function killLibvirtd(machine: Folder): Promise<void> {
  const [holder, daemon] = [await pidIn(machine, 'holder.pid'), await pidIn(machine, 'run/private.pid')];
  await exec('nsenter', ['--mount', '--pid', `--target=${holder}`, '--', 'kill', '-KILL', daemon]);
}

/** Starts a process of 1 GiB in the daemon's namespaces, which is slow to end. @returns their PID namespace */
export async function startSlowToEnd(machine: Folder): Promise<string> {
  const holder = await pidIn(machine, 'holder.pid');
  const program = 'const bytes = Buffer.alloc(2 ** 30, 1); console.log("filled"); setInterval(() => bytes, 1e6)';
  const inside = ['--mount', '--pid', `--target=${holder}`, '--', process.execPath, '-e', program];
  const { stdout } = spawn('nsenter', inside, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(stdout, 'data');
  return readlinkSync(`/proc/${holder}/ns/pid`);
}

/** Counts the processes in a PID namespace. */
export function processesIn(namespace: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/ns/pid`) === namespace;
    } catch {
      return false; // ended since the listing
    }
  }).length;
}

/** Kills the first process of the daemon's namespace, and so all others in it, which may take a moment. */
export async function killHolder(machine: Folder): Promise<void> {
  process.kill(Number(await pidIn(machine, 'holder.pid')), 'SIGKILL');
}
