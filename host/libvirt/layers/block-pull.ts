import { MayflyError } from '../../../model/errors.ts';
import type { QemuMonitor } from '../client/qemu-monitor.ts';
import { nullIfMissing, type Virsh, VirshError } from '../client/virsh.ts';
import { parseXml } from '../client/xml.ts';
import { type LayeredDisk, layeredDisks } from './disk-layers.ts';

/** Limit of a disk's copy; a signal ends it earlier. Milliseconds. */
const PULL_TIMEOUT_MS = 3_600_000;

/** Copies lower layers of a running domain's disk into its active layer (QEMU's block-stream). */
export class BlockPull {
  constructor(
    private readonly virsh: Virsh,
    private readonly monitor: QemuMonitor,
  ) {}

  /**
   * Resolves when the disk refers to `base`, a path, alone. An abort does not stop QEMU: see {@link abort}.
   * @throws VirshError when libvirt refuses, or the copy fails; MayflyError host_unavailable
   */
  async pull(sandboxId: string, target: string, base: string, signal: AbortSignal): Promise<void> {
    const args = ['blockpull', sandboxId, target, '--base', base, '--wait'];
    await this.virsh.run(args, { signal, timeoutMs: PULL_TIMEOUT_MS });
  }

  /** Stops a running copy; no-op without one or without a domain. Copied data stays. */
  async abort(sandboxId: string, target: string): Promise<void> {
    try {
      await this.virsh.run(['blockjob', sandboxId, target, '--abort']);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      const isNone = /not have an active block job|domain is not running/i.test(error.stderr);
      if (!isNone && error.failure.result !== 'not_found') throw error;
    }
  }

  /** Returns the domain's disks with their chains, according to libvirt; none when it is off. */
  async disks(sandboxId: string): Promise<LayeredDisk[]> {
    const xml = await nullIfMissing(this.virsh.run(['dumpxml', sandboxId]));
    const domain = xml === null ? null : parseXml(xml);
    return domain?.attributes['id'] === undefined ? [] : layeredDisks(domain);
  }

  /**
   * Makes QEMU flush an image, with the present name of its backing file: QEMU itself would write the name from the
   * machine's start.
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
