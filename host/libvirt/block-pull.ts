import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { type LayeredDisk, layeredDisks } from './disk-layers.ts';
import { type Virsh, VirshError } from './virsh.ts';
import { parseXml } from './xml.ts';

/** How long all of a disk may take to be copied; whoever wants an end sooner has a signal. Milliseconds. */
const PULL_TIMEOUT_MS = 3_600_000;

/** Answer of QMP's `query-block`: what a machine has in its drives. */
const Drives = z.object({
  return: z.array(
    z.object({ inserted: z.object({ file: z.string(), 'node-name': z.string().regex(/^[\w-]+$/) }).optional() }),
  ),
});

/** Copies lower layers of a living domain's disk into the one that it writes to (QEMU's block-stream). */
export class BlockPull {
  constructor(private readonly virsh: Virsh) {}

  /**
   * Copies all that lies above `base`, and returns when the disk leans on `base` alone. Aborted, it goes on in QEMU: see
   * {@link abort}.
   * @param base path of the file that stays the base
   * @throws VirshError when libvirt refuses, or the copy fails; MayflyError host_unavailable
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
    try {
      const domain = parseXml(await this.virsh.run(['dumpxml', sandboxId]));
      return domain.attributes['id'] === undefined ? [] : layeredDisks(domain);
    } catch (error) {
      if (error instanceof VirshError && error.failure.result === 'not_found') return [];
      throw error;
    }
  }

  /** Has QEMU write down what it keeps of an image in its own memory, the tables that say where a cluster is among it. */
  async flush(sandboxId: string, path: string): Promise<void> {
    const answer = await this.virsh.run(['qemu-monitor-command', sandboxId, '{"execute":"query-block"}']);
    const drives = Drives.parse(JSON.parse(answer)).return;
    const node = drives.find(({ inserted }) => inserted?.file === path)?.inserted?.['node-name'];
    if (node === undefined) throw notFlushed(sandboxId, path, 'it is in none of its drives');
    const said = await this.virsh.run(['qemu-monitor-command', sandboxId, '--hmp', `qemu-io ${node} flush`]);
    if (said.trim() !== '') throw notFlushed(sandboxId, path, said.trim());
  }
}

function notFlushed(sandboxId: string, path: string, why: string): MayflyError {
  return new MayflyError('flatten_failed', `The QEMU of ${sandboxId} did not write down ${path}: ${why}.`);
}
