import { readdir, readFile } from 'node:fs/promises';

export async function qemusOf(sandboxId: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, n) => commands[n]?.includes(`guest=${sandboxId},`)).map(Number);
}

/** Finds the QEMU process of a sandbox. @throws Error when there is none */
export async function qemuOf(sandboxId: string): Promise<number> {
  const [pid] = await qemusOf(sandboxId);
  if (pid === undefined) throw new Error(`no QEMU of ${sandboxId}`);
  return pid;
}

/** Returns CPU time of a process, ms: fields 14 and 15 of proc_pid_stat(5), in hundredths of a second. */
export async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}
