import { setImmediate as others } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import { domainUuid } from '../../../model/ids.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { poll } from '../../os/poll.ts';
import { getStartTime, processNames, readOrGone, sendSignal } from '../../os/proc.ts';

export interface QemuProcess {
  pid: number;
  /** Ticks since boot: the pid may be reused later. */
  start: string;
  sandboxId: string | null;
  uuid: string | null;
  /** Files of its disks, paths as libvirt gave them. */
  files: string[];
}

/** Processes per batch, 20 µs each, before the event loop gets a turn. */
const BATCH_SIZE = 50;
/** Timeout of SIGKILL; beyond, a process hangs in the kernel. Milliseconds. */
const KILL_TIMEOUT_MS = 10_000;
const LOOK_EVERY_MS = 10;
/** Names of libvirt's daemons (and wrappers). Without a visible daemon its QEMUs are not visible either. */
const DAEMON = /libvirtd|virtqemud/;

/**
 * QEMUs of sandboxes, as the kernel shows them: the proof that no machine is left must not rest on libvirt alone. Those
 * of a private libvirtd are in a PID namespace below this one, so they are visible (pid_namespaces(7)).
 */
export class QemuProcesses {
  /** Files behind {@link all}, for a proof. */
  readonly lookedAt = '/proc/*/cmdline';

  /**
   * Scans all processes. A zombie has no arguments, and holds nothing.
   * @throws MayflyError host_unavailable when libvirt's own processes are not visible
   */
  async all(): Promise<QemuProcess[]> {
    const found: QemuProcess[] = [];
    let isDaemonSeen = false;
    for (const [nth, name] of processNames().entries()) {
      if (nth % BATCH_SIZE === BATCH_SIZE - 1) await others();
      const args = (readOrGone(`/proc/${name}/cmdline`) ?? '').split('\0');
      isDaemonSeen ||= DAEMON.test(args[0] ?? '');
      const named = qemuIn(args);
      const start = named && getStartTime(Number(name));
      if (named && start !== null) found.push({ pid: Number(name), start, ...named });
    }
    if (isDaemonSeen) return found;
    throw new MayflyError(
      'host_unavailable',
      "The processes of this machine cannot be looked at: libvirt's own is not among those that the host worker sees. In a container it needs the PID namespace of the machine (`pid: host`).",
    );
  }

  async of(sandboxId: string): Promise<QemuProcess[]> {
    const uuid = domainUuid(sandboxId);
    return (await this.all()).filter((one) => one.sandboxId === sandboxId || one.uuid === uuid);
  }

  /**
   * Kills QEMUs that libvirt has lost. Only a process whose arguments name the domain, and which still has the same
   * start time, gets a signal.
   * @throws MayflyError cleanup_incomplete when one does not end; host_unavailable
   */
  async end(sandboxId: string): Promise<void> {
    const look = async () => {
      const left = await this.of(sandboxId);
      for (const { pid, start } of left) if (getStartTime(pid) === start) sendSignal(pid, 'SIGKILL');
      return left.length === 0 || null;
    };
    if (await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: KILL_TIMEOUT_MS })) return;
    const pids = (await this.of(sandboxId)).map(({ pid }) => pid).join(', ');
    throw new MayflyError('cleanup_incomplete', `A QEMU of ${sandboxId} survives SIGKILL: ${pids}.`);
  }
}

/** Path of a disk's file or device in JSON (`-blockdev`, src/qemu/qemu_block.c). */
const FILE = /"driver":"(?:file|host_device)","filename":"(\/(?:[^"\\]|\\.)*)"/g;

/**
 * Parses libvirt's arguments of a QEMU (src/qemu/qemu_command.c): `-name guest=NAME,…` and `-uuid UUID`. Null: no
 * sandbox's.
 */
export function qemuIn(args: readonly string[]): Omit<QemuProcess, 'pid' | 'start'> | null {
  if (!/(?:^|\/)qemu[^/]*$/.test(args[0] ?? '')) return null;
  const [, name = ''] = /^guest=([^,]*)(?:,|$)/.exec(after(args, '-name') ?? '') ?? [];
  const files = args.flatMap((arg) => [...arg.matchAll(FILE)].map(([, path = '']) => path));
  return { sandboxId: isSandboxId(name) ? name : null, uuid: after(args, '-uuid'), files };
}

function after(args: readonly string[], option: string): string | null {
  const at = args.indexOf(option);
  return at < 0 ? null : (args[at + 1] ?? null);
}
