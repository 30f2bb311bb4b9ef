import { MayflyError } from '../../../model/errors.ts';
import type { QemuMonitor } from '../client/qemu-monitor.ts';
import { orMissing, type Virsh, VirshError } from '../client/virsh.ts';
import { parseXml } from '../client/xml.ts';
import { type LayeredDisk, layeredDisks } from './disk-layers.ts';

/** How long all of a disk may take to be copied; whoever wants an end sooner has a signal. Milliseconds. */
const PULL_TIMEOUT_MS = 3_600_000;

/** Copies lower layers of a living domain's disk into the one that it writes to (QEMU's block-stream). */
export class BlockPull {
  constructor(
    private readonly virsh: Virsh,
    private readonly monitor: QemuMonitor,
  ) {}

  /**
   * Returns when the disk refers to `base`, a path, alone. Aborted, it goes on in QEMU: see {@link abort}. @throws
   * VirshError when libvirt refuses, or the copy fails; MayflyError host_unavailable
   */
  async pull(sandboxId: string, target: string, base: string, signal: AbortSignal): Promise<void> {
    const args = ['blockpull', sandboxId, target, '--base', base, '--wait'];
    await this.virsh.run(args, { signal, timeoutMs: PULL_TIMEOUT_MS });
  }

  /** Ends a copy that is under way, also when there is none, or no domain. What was copied stays. */
  async abort(sandboxId: string, target: string): Promise<void> {
    try {
      await this.virsh.run(['blockjob', sandboxId, target, '--abort']);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      const isNone = /not have an active block job|domain is not running/i.test(error.stderr);
      if (!isNone && error.failure.result !== 'not_found') throw error;
    }
  }

  /** The disks that the domain has now, with what lies below them by libvirt's account; none when it is off. */
  async disks(sandboxId: string): Promise<LayeredDisk[]> {
    const xml = await orMissing(this.virsh.run(['dumpxml', sandboxId]));
    const domain = xml === null ? null : parseXml(xml);
    return domain?.attributes['id'] === undefined ? [] : layeredDisks(domain);
  }

  /**
   * Has QEMU write down what it keeps of an image in its own memory, and what lies below it, by its present name: QEMU
   * itself would write the name that it had when the machine was started.
   */
  async writeDown(sandboxId: string, [active, base]: LayeredDisk['layers']): Promise<void> {
    const node = await this.monitor.driveNode(sandboxId, active.path);
    if (node === null) throw notWritten(sandboxId, active.path, 'it is in none of its drives');
    if (base) await this.monitor.nameBacking(sandboxId, node, base.path);
    const complaint = await this.monitor.flush(sandboxId, node);
    if (complaint !== '') throw notWritten(sandboxId, active.path, complaint);
  }
}

function notWritten(sandboxId: string, path: string, why: string): MayflyError {
  return new MayflyError('flatten_failed', `The QEMU of ${sandboxId} did not write down ${path}: ${why}.`);
}
