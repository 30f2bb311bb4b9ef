import { readdirSync, readFileSync } from 'node:fs';

/** The processes of validators that this process has started and that run. */
export function validatorPids(): number[] {
  const ours = (pid: string) => statOf(pid)[1] === String(process.pid);
  return readdirSync('/proc')
    .filter((pid) => ours(pid) && isValidator(pid))
    .map(Number);
}

/** Not of one that has ended and is only waited for, which has no arguments any more. */
export function isValidator(pid: string): boolean {
  return textOf(pid, 'cmdline').includes('validator/main.mjs');
}

/** The fields from the state on. */
function statOf(pid: string): string[] {
  return textOf(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
}

function textOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // no process, or one that has ended meanwhile
  }
}
