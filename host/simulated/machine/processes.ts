import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as others, setTimeout as sleep } from 'node:timers/promises';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { nullIfGone, processNames, readOrGone } from '../../os/proc.ts';

/** Time in which callers are gathered into one scan of /proc. Milliseconds. */
const GATHER_MS = 5;
/** Processes per batch, 10 µs each, before the event loop gets a turn. */
const AT_ONCE = 50;
const PAGE_KIB = 4;

type ProcessesBySandbox = ReadonlyMap<string, readonly number[]>;

/**
 * Processes of simulated sandboxes, found in the kernel and not by a pid file, which could be lost, or name a reused
 * pid: a process belongs to the sandbox whose disk is its root directory (/proc/PID/root); before chroot, to the one
 * named in the boot script's arguments.
 */
export class ProcessTable {
  /** Known process of each running sandbox. */
  #seen = new Map<string, number>();
  #next: Promise<ProcessesBySandbox> | null = null;

  /** @param sandboxes the folder of all workspaces, without symbolic links */
  constructor(
    private readonly sandboxes: string,
    private readonly bootScript: string,
  ) {}

  /** Scans /proc, starting after this call. Zombies do not count: they hold nothing. */
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

  /** Reports whether a sandbox has processes. For a known sandbox only its known process is checked. */
  async runs(sandboxId: string): Promise<boolean> {
    const pid = this.#seen.get(sandboxId);
    if (pid !== undefined && this.#ownerOf(pid) === sandboxId) return true;
    this.#seen.delete(sandboxId);
    return (await this.of(sandboxId)).length > 0;
  }

  /** True when a known process has ended since the last call. Checks only known processes. */
  someEnded(): boolean {
    const ended = [...this.#seen].filter(([sandboxId, pid]) => this.#ownerOf(pid) !== sandboxId);
    for (const [sandboxId] of ended) this.#seen.delete(sandboxId);
    return ended.length > 0;
  }

  /** Stores a process of a sandbox, one of possibly several. */
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

  /** Returns the id in `<sandboxes>/<id>/…`. */
  #idIn(path: string): string | null {
    if (!path.startsWith(`${this.sandboxes}/`)) return null;
    const id = path.slice(this.sandboxes.length + 1).split('/')[0] ?? '';
    return isSandboxId(id) ? id : null;
  }
}

export function processIds(): number[] {
  return processNames().map(Number);
}

/** Returns the only child of a process, or null (proc(5), `children`). */
export function childOf(pid: number): number | null {
  const children = readOrGone(`/proc/${pid}/task/${pid}/children`)?.trim().split(' ')[0];
  return children ? Number(children) : null;
}

/** Returns the resident memory (proc(5), `statm`), KiB; 0 when the process has ended. */
export function residentKib(pid: number): number {
  const pages = readOrGone(`/proc/${pid}/statm`)?.split(' ')[1];
  return Number(pages ?? 0) * PAGE_KIB;
}

/** True when no thread of a process runs: each is stopped (proc(5), `stat`), traced, or has ended. */
export function isStopped(pid: number): boolean {
  return (nullIfGone(() => readdirSync(`/proc/${pid}/task`)) ?? []).every((task) => {
    const stat = readOrGone(`/proc/${pid}/task/${task}/stat`) ?? '';
    // The process chooses the name before the state: it may hold a `)`.
    return 'TtZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
  });
}

/** Returns the root directory of a process; null when it has ended. */
export function rootOf(pid: number | string): string | null {
  return nullIfGone(() => readlinkSync(`/proc/${pid}/root`));
}
