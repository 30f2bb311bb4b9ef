import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exec } from '../../../host/os/exec.ts';
import type { TestMachine } from './machine.ts';

async function pidIn({ state }: TestMachine, file: string): Promise<string> {
  return (await readFile(join(dirname(state.root), 'libvirt', file), 'utf8')).trim();
}

/** Kills the daemon alone: its holder, the machines and their networks stay. */
export async function killLibvirtd(machine: TestMachine): Promise<void> {
  const [holder, daemon] = [await pidIn(machine, 'holder.pid'), await pidIn(machine, 'run/private.pid')];
  await exec('nsenter', ['--mount', '--pid', `--target=${holder}`, '--', 'kill', '-KILL', daemon]);
}

/** Kills the first process of the daemon's namespace, and with it all that runs there. Resolves when it is gone. */
export async function killHolder(machine: TestMachine): Promise<void> {
  const pid = Number(await pidIn(machine, 'holder.pid'));
  process.kill(pid, 'SIGKILL');
  while (
    await access(`/proc/${pid}`).then(
      () => true,
      () => false,
    )
  )
    await new Promise(setImmediate);
}
