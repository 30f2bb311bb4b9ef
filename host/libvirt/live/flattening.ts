import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { setBackingFile } from '../../disk/image.ts';
import { flush } from '../../os/atomic-file.ts';
import type { StepContext } from '../../step-context.ts';
import { VirshError } from '../client/virsh.ts';
import type { Element } from '../client/xml.ts';
import type { Layer } from '../domain-xml/clone-disks.ts';
import { BlockPull } from '../layers/block-pull.ts';
import { type LayeredDisk, layeredDisks, putLayers } from '../layers/disk-layers.ts';
import { SnapshotFolder } from '../layers/snapshot-folder.ts';
import { Workspace } from '../layers/workspace.ts';
import type { LibvirtTools } from '../tools/tools.ts';

/** Space that must stay free on the host beside the copy. Bytes. */
const SPARE_BYTES = 1_073_741_824;

/** Disk, the layers of snapshots that leave its chain, and the layer below those. */
interface Pull {
  target: string;
  leaving: Layer[];
  base: Layer;
}

/**
 * Shortens the chains of a running sandbox's disks: data read from snapshots is copied into the active layer, while the
 * sandbox runs. docs/decisions/0011-chains-and-quotas.md lists the state after a crash at each point.
 */
export class Flattening {
  readonly #blockPull: BlockPull;

  constructor(private readonly deps: Pick<LibvirtTools, 'state' | 'virsh' | 'monitor' | 'references'>) {
    this.#blockPull = new BlockPull(deps.virsh, deps.monitor);
  }

  /** Flattens down to the source. @throws MayflyError flatten_failed, sandbox_not_running, host_unavailable */
  async flatten(sandboxId: string, context: StepContext): Promise<void> {
    await this.#shortenChain(sandboxId, context, async () => true);
  }

  /**
   * Flattens down to the first snapshot that is not deleted. @returns number of snapshots that left the chain
   * @throws MayflyError flatten_failed, sandbox_not_running, host_unavailable
   */
  async mergeDeleted(sandboxId: string, context: StepContext): Promise<number> {
    return this.#shortenChain(sandboxId, context, (id) => new SnapshotFolder(this.deps.state, id).isRemoved());
  }

  /** @param isLeft true when a snapshot is to leave the chain; called newest first, until one stays */
  async #shortenChain(
    sandboxId: string,
    context: StepContext,
    isLeft: (snapshotId: string) => Promise<boolean>,
  ): Promise<number> {
    const { signal } = context;
    await this.stop(sandboxId);
    const workspace = new Workspace(this.deps.state, sandboxId);
    const spec = await workspace.spec();
    if (spec === null) throw new MayflyError('sandbox_not_running', `${sandboxId} is not on this host.`);
    const leaving: string[] = [];
    for (const id of spec.snapshots) {
      if (!(await isLeft(id))) break;
      leaving.push(id);
    }
    if (leaving.length === 0) return 0;
    const pulls = this.#pulls(await workspace.domain(), leaving, await this.#blockPull.disks(sandboxId));
    await this.#checkRoom(sandboxId, pulls);
    signal.throwIfAborted();
    await workspace.markPulling();
    try {
      for (const { target, base } of pulls) {
        context.alive(`copying ${target}`);
        await this.#blockPull.pull(sandboxId, target, base.path, signal);
      }
    } catch (error) {
      await this.stop(sandboxId);
      signal.throwIfAborted();
      if (!(error instanceof VirshError)) throw error;
      if (error.failure.result === 'not_found' || /domain is not running/i.test(error.stderr)) {
        throw new MayflyError('sandbox_not_running', `${sandboxId} does not run.`, { cause: error });
      }
      throw new MayflyError('flatten_failed', `The disks of ${sandboxId} stay as they are: ${error.message}`, {
        cause: error,
      });
    }
    await this.stop(sandboxId);
    const left = (await workspace.spec())?.snapshots ?? [];
    if (!leaving.some((id) => left.includes(id))) return leaving.length;
    throw new MayflyError('flatten_failed', `The disks of ${sandboxId} are copied, but it still refers to snapshots.`);
  }

  /**
   * Ends a flatten in progress, also of a killed worker: a disk with a complete copy gets the shorter chain, another's
   * copy is aborted. QEMU does not save while it copies, so a save begins with this. Images of a machine that is off
   * get their backing names repaired. Free without a flatten.
   */
  async stop(sandboxId: string): Promise<void> {
    const workspace = new Workspace(this.deps.state, sandboxId);
    if (!(await workspace.isPulling())) return;
    const domain = await workspace.domain();
    const disks = layeredDisks(domain).filter(({ layers }) => layers.some(({ path }) => this.#isSnapshots(path)));
    for (const { target } of disks) await this.#blockPull.abort(sandboxId, target);
    const live = await this.#blockPull.disks(sandboxId);
    const hasLeft = await this.#recordChains(workspace, domain, disks, live);
    if (live.length === 0) await repairBackingNames(disks);
    await workspace.unmarkPulling();
    if (hasLeft) await this.deps.references.sweep();
  }

  /**
   * Records the running domain's chains. When domain.xml has them already, only spec.json is updated, with or without a
   * domain. @returns true when snapshots left the chain
   */
  async #recordChains(
    workspace: Workspace,
    domain: Element,
    disks: readonly LayeredDisk[],
    live: readonly LayeredDisk[],
  ): Promise<boolean> {
    const spec = await workspace.spec();
    if (spec === null) return false;
    const shorter = disks.flatMap((disk) => findShortened(disk, live));
    for (const { target, layers } of shorter) {
      await this.#blockPull.writeDown(workspace.sandboxId, layers);
      await flush(layers[0].path); // a domain's cache mode may make QEMU skip that
      putLayers(domain, target, layers);
    }
    const files = layeredDisks(domain).flatMap(({ layers }) => layers.map(({ path }) => path));
    const snapshots = spec.snapshots.filter((id) =>
      files.some((path) => dirname(path) === this.deps.state.snapshot(id)),
    );
    const hasLeft = snapshots.length < spec.snapshots.length;
    if (shorter.length === 0 && !hasLeft) return false;
    const bases = spec.bases.filter(({ path }) => !this.#isSnapshots(path) || files.includes(path));
    await workspace.change({ ...spec, bases, snapshots }, domain);
    return hasLeft;
  }

  #pulls(domain: Element, leaving: readonly string[], live: readonly LayeredDisk[]): Pull[] {
    const folders = leaving.map((id) => this.deps.state.snapshot(id));
    return layeredDisks(domain).flatMap(({ target, layers: [, ...below] }) => {
      const staying = below.findIndex(({ path }) => !folders.includes(dirname(path)));
      if (staying <= 0) return [];
      // A running domain calls a layer by its name at the start.
      const base = liveBelow(target, live).at(staying - below.length);
      if (!base)
        throw new MayflyError('sandbox_not_running', `The disk ${target} of the sandbox is in use by no machine.`);
      return [{ target, leaving: below.slice(0, staying), base }];
    });
  }

  #isSnapshots(path: string): boolean {
    return dirname(dirname(path)) === this.deps.state.snapshots;
  }

  /** Checks the space: the copy is at most as large as its origins. */
  async #checkRoom(sandboxId: string, pulls: readonly Pull[]): Promise<void> {
    const files = await Promise.all(pulls.flatMap(({ leaving }) => leaving).map(({ path }) => stat(path)));
    const needed = files.reduce((sum, { blocks }) => sum + blocks * 512, 0);
    const { bavail, bsize } = await statfs(this.deps.state.sandboxes);
    if (bavail * bsize >= needed + SPARE_BYTES) return;
    const [wanted, free] = [needed + SPARE_BYTES, bavail * bsize].map((bytes) => Math.ceil(bytes / 1_048_576));
    throw new MayflyError(
      'flatten_failed',
      `The disks of ${sandboxId} refer to ${pulls[0]?.leaving.length} snapshots, and stay so: to copy what they read ` +
        `from these the host needs ${wanted} MiB, and has ${free}. Delete snapshots or sandboxes, or give it more room.`,
    );
  }
}

/**
 * Restores the backing names of the domain's XML. QEMU writes the new base into an image after the copy, but may have
 * died before it wrote the mapping of the copied clusters.
 */
async function repairBackingNames(disks: readonly LayeredDisk[]): Promise<void> {
  for (const { layers } of disks) {
    const [active, below] = layers;
    if (below) await setBackingFile(active.path, below);
  }
}

/**
 * Returns a running disk whose chain lacks some middle layers of the recorded one. Their count identifies them: those
 * at the bottom stay.
 */
function findShortened(
  { target, layers }: LayeredDisk,
  live: readonly LayeredDisk[],
): Pick<LayeredDisk, 'target' | 'layers'>[] {
  const [active, ...below] = layers;
  const left = liveBelow(target, live).length;
  const isIt = live.some((disk) => disk.target === target && disk.layers[0].path === active.path);
  return isIt && left > 0 && left < below.length ? [{ target, layers: [active, ...below.slice(-left)] }] : [];
}

function liveBelow(target: string, live: readonly LayeredDisk[]): Layer[] {
  return live.find((disk) => disk.target === target)?.layers.slice(1) ?? [];
}
