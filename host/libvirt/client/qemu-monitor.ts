import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import type { Virsh } from './virsh.ts';

/** Answer of QMP's `query-block`: media in a machine's drives. */
const Drives = z.object({
  return: z.array(
    z.object({ inserted: z.object({ file: z.string(), 'node-name': z.string().regex(/^[\w-]+$/) }).optional() }),
  ),
});

/** Answer of `query-named-block-nodes`: all open disk files, the drives' own and those below them. */
const Nodes = z.object({
  return: z.array(z.object({ 'node-name': z.string(), drv: z.string(), file: z.string() })),
});

/** Answer of `query-block-jobs`. */
const Jobs = z.object({ return: z.array(z.object({ device: z.string(), ready: z.boolean() })) });

/** QEMU's name of an image opened over another backing file than its header names: its open options. */
const Options = z.object({ file: z.object({ filename: z.string() }) });

const Refusal = z.object({ error: z.object({ desc: z.string() }) });

interface BlockNode {
  name: string;
  /** `file`, `qcow2` … */
  driver: string;
  /** Path under which QEMU has opened it. */
  file: string;
}

/** Direct commands to a domain's QEMU (QMP), where libvirt has none or must not know. */
export class QemuMonitor {
  constructor(private readonly virsh: Virsh) {}

  /**
   * @returns the unparsed answer @throws MayflyError host_unavailable when QEMU refuses; VirshError when it does not
   * run
   */
  async execute(sandboxId: string, command: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const said = JSON.stringify({ execute: command, arguments: args });
    const answer: unknown = JSON.parse(await this.virsh.run(['qemu-monitor-command', sandboxId, said]));
    const { data: refusal } = Refusal.safeParse(answer);
    if (!refusal) return answer;
    throw new MayflyError('host_unavailable', `The QEMU of ${sandboxId} refused ${command}: ${refusal.error.desc}`);
  }

  /** Returns the node that the guest writes to in a drive with that file, or null. */
  async driveNode(sandboxId: string, file: string): Promise<string | null> {
    const drives = Drives.parse(await this.execute(sandboxId, 'query-block')).return;
    return drives.find(({ inserted }) => inserted && pathOf(inserted.file) === file)?.inserted?.['node-name'] ?? null;
  }

  async nodes(sandboxId: string): Promise<BlockNode[]> {
    const { return: nodes } = Nodes.parse(await this.execute(sandboxId, 'query-named-block-nodes', { flat: true }));
    const read = nodes.map(({ 'node-name': name, drv: driver, file }) => ({ name, driver, file: pathOf(file) }));
    return read.toSorted((a, b) => Number(a.driver === 'file') - Number(b.driver === 'file'));
  }

  /** True when a block job is ready to complete; null without a job of that name. */
  async jobIsReady(sandboxId: string, job: string): Promise<boolean | null> {
    const { return: jobs } = Jobs.parse(await this.execute(sandboxId, 'query-block-jobs'));
    return jobs.find(({ device }) => device === job)?.ready ?? null;
  }

  /** Changes the backing file's name in a node's image; QEMU keeps its open files. */
  async nameBacking(sandboxId: string, node: string, path: string): Promise<void> {
    const args = { device: node, 'image-node-name': node, 'backing-file': path };
    await this.execute(sandboxId, 'change-backing-file', args);
  }

  /**
   * Makes QEMU flush a node's cached data and metadata tables to the image.
   * @returns the error text; empty on success
   */
  async flush(sandboxId: string, node: string): Promise<string> {
    return (await this.virsh.run(['qemu-monitor-command', sandboxId, '--hmp', `qemu-io ${node} flush`])).trim();
  }
}

function pathOf(name: string): string {
  if (!name.startsWith('json:')) return name;
  return Options.safeParse(JSON.parse(name.slice('json:'.length))).data?.file.filename ?? name;
}
