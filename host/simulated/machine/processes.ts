import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as others, setTimeout as sleep } from 'node:timers/promises';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { orGone, processNames, readOrGone } from '../../os/proc.ts';

/** Callers that come within this time share one look at /proc. Milliseconds. */
const GATHER_MS = 5;
/** So many processes are looked at in one go, 10 µs each; then whoever else wants this thread has it. */
const AT_ONCE = 50;
const PAGE_KIB = 4;

type ProcessesBySandbox = ReadonlyMap<string, readonly number[]>;

/**
 * Finds the processes of simulated sandboxes by what the kernel says of them, not by a file with a process id, which
 * could be lost, or reused by a stranger: a process belongs to the sandbox whose disk is its root directory
 * (/proc/PID/root); before it has changed root, to the one named in the boot script's arguments.
 */
export class ProcessTable {
  /** One process of each sandbox that was seen to run. */
  #seen = new Map<string, number>();
  #next: Promise<ProcessesBySandbox> | null = null;

  /** @param sandboxes the folder of all workspaces, without symbolic links */
  constructor(
    private readonly sandboxes: string,
    private readonly bootScript: string,
  ) {}

  /** A look at /proc that begins after this call. Zombies do not count: they hold nothing. */
  look(): Promise<ProcessesBySandbox> {
    this.#next ??= sleep(GATHER_MS).then(() => {
      this.#next = null;
      return this.#read();
    });
    return this.#next;
  }

  async of(sandboxId: string): Promise<readonly number[]> {
    return (await this.look()).get(sandboxId) ?? [];
  }

  /** Whether a sandbox has any. Of one that was seen to run only that process is looked at. */
  async runs(sandboxId: string): Promise<boolean> {
    const pid = this.#seen.get(sandboxId);
    if (pid !== undefined && this.#ownerOf(pid) === sandboxId) return true;
    this.#seen.delete(sandboxId);
    return (await this.of(sandboxId)).length > 0;
  }

  /** Whether of a sandbox that was seen to run that process has ended, since this was last asked. Looks at those alone. */
  someEnded(): boolean {
    const ended = [...this.#seen].filter(([sandboxId, pid]) => this.#ownerOf(pid) !== sandboxId);
    for (const [sandboxId] of ended) this.#seen.delete(sandboxId);
    return ended.length > 0;
  }

  /** A process of a sandbox, which need not be its only one. */
  remember(sandboxId: string, pid: number): void {
    this.#seen.set(sandboxId, pid);
  }

  async #read(): Promise<ProcessesBySandbox> {
    const found = new Map<string, number[]>();
    for (const [n, name] of processNames().entries()) {
      if (n % AT_ONCE === AT_ONCE - 1) await others();
      const sandboxId = this.#ownerOf(name);
      if (!sandboxId) continue;
      const pids = found.get(sandboxId) ?? [];
      pids.push(Number(name));
      found.set(sandboxId, pids);
    }
    this.#seen = new Map([...found].map(([sandboxId, [first = 0]]) => [sandboxId, first]));
    return found;
  }

  #ownerOf(pid: number | string): string | null {
    const root = rootOf(pid);
    if (root !== '/') return root === null ? null : this.#idIn(root);
    const args = (readOrGone(`/proc/${pid}/cmdline`) ?? '').split('\0');
    if (!args.includes(this.bootScript)) return null;
    return args.map((arg) => this.#idIn(arg)).find((id) => id !== null) ?? null;
  }

  /** The id in `<sandboxes>/<id>/…`. */
  #idIn(path: string): string | null {
    if (!path.startsWith(`${this.sandboxes}/`)) return null;
    const id = path.slice(this.sandboxes.length + 1).split('/')[0] ?? '';
    return isSandboxId(id) ? id : null;
  }
}

export function processIds(): number[] {
  return processNames().map(Number);
}

/** The only child of a process, once it has one (proc(5), `children`). */
export function childOf(pid: number): number | null {
  const children = readOrGone(`/proc/${pid}/task/${pid}/children`)?.trim().split(' ')[0];
  return children ? Number(children) : null;
}

/** Resident memory (proc(5), `statm`), KiB; 0 when the process has ended. */
export function residentKib(pid: number): number {
  const pages = readOrGone(`/proc/${pid}/statm`)?.split(' ')[1];
  return Number(pages ?? 0) * PAGE_KIB;
}

/** Whether no thread of a process runs: each is stopped (proc(5), `stat`), traced, or has ended. */
export function isStopped(pid: number): boolean {
  return (orGone(() => readdirSync(`/proc/${pid}/task`)) ?? []).every((task) => {
    const stat = readOrGone(`/proc/${pid}/task/${task}/stat`) ?? '';
    // The name before the state is the process's own choice: it may hold a `)`.
    return 'TtZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
  });
}

/** The root directory of a process; null when it has ended. */
export function rootOf(pid: number | string): string | null {
  return orGone(() => readlinkSync(`/proc/${pid}/root`));
}
