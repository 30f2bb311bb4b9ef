import { readdirSync, readFileSync } from 'node:fs';

/** Returns the pids of running validators that this process started. */
export function validatorPids(): number[] {
  const ours = (pid: string) => statOf(pid)[1] === String(process.pid);
  return readdirSync('/proc')
    .filter((pid) => ours(pid) && isValidator(pid))
    .map(Number);
}

/** Returns false for a zombie, which has no arguments. */
export function isValidator(pid: string): boolean {
  return textOf(pid, 'cmdline').includes('validator/main.mjs');
}

/** Returns the fields of `stat` from the state on. */
function statOf(pid: string): string[] {
  return textOf(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
}

function textOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // no process, or ended since the listing
  }
}
