import { readdir, readFile } from 'node:fs/promises';

/** The process of a sandbox's machine. @throws Error when there is none */
export async function qemuOf(sandboxId: string): Promise<number> {
  for (const name of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => ''); // it has ended meanwhile
    if (command.includes(`guest=${sandboxId},`)) return Number(name);
  }
  throw new Error(`no QEMU of ${sandboxId}`);
}

/** Processor time that it has had, in milliseconds: fields 14 and 15 of proc_pid_stat(5), in hundredths of a second. */
export async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}
