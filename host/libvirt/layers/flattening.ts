import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { nameBacking } from '../../disk/image.ts';
import { flushFile } from '../../os/atomic-file.ts';
import type { StateDir } from '../../state-dir.ts';
import type { StepContext } from '../../step-context.ts';
import { VirshError } from '../client/virsh.ts';
import type { Element } from '../client/xml.ts';
import type { Layer } from '../domain-xml/clone-disks.ts';
import type { BlockPull } from './block-pull.ts';
import { type LayeredDisk, layeredDisks, putLayers } from './disk-layers.ts';
import type { References } from './references.ts';
import { Workspace } from './workspace.ts';

/** What must stay free on the host beside the copy. Bytes. */
const SPARE_BYTES = 1_073_741_824;

export interface FlatteningDeps {
  state: StateDir;
  blockPull: BlockPull;
  references: References;
}

/** A disk that refers to snapshots, and the file of its source that it shall refer to instead. */
interface Pull {
  target: string;
  active: Layer;
  /** The layers of snapshots between the two. */
  snapshots: Layer[];
  /** The source's own files, topmost first. */
  bases: [Layer, ...Layer[]];
}

/**
 * Makes the disks of a living sandbox refer to its source alone: what they read from snapshots is copied into the layer
 * they write to, while the sandbox goes on. docs/decisions/0024-bounded-chains.md says what a crash leaves at each point.
 */
export class Flattening {
  constructor(private readonly deps: FlatteningDeps) {}

  /** @throws MayflyError flatten_failed, sandbox_not_running, host_unavailable */
  async flatten(sandboxId: string, context: StepContext): Promise<void> {
    const { signal } = context;
    await this.stop(sandboxId);
    const workspace = new Workspace(this.deps.state, sandboxId);
    const spec = await workspace.spec();
    if (spec === null) throw new MayflyError('sandbox_not_running', `${sandboxId} is not on this host.`);
    if (spec.snapshots.length === 0) return;
    const pulls = this.#pulls(await workspace.domain());
    await this.#checkRoom(sandboxId, pulls);
    signal.throwIfAborted();
    await workspace.markPulling();
    try {
      for (const { target, bases } of pulls) {
        context.alive(`copying ${target}`);
        await this.deps.blockPull.pull(sandboxId, target, bases[0].path, signal);
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
    if ((await workspace.spec())?.snapshots.length === 0) return;
    throw new MayflyError('flatten_failed', `The disks of ${sandboxId} are copied, but it still refers to snapshots.`);
  }

  /**
   * Ends what a flatten left under way, also one of a worker that was killed: a disk whose copy was whole refers to its
   * source from then on, another's copy is given up. QEMU does not save while it copies, so a save begins with this.
   * Of a machine that is off, the images are made to name what lies below them again. Costs nothing when there is none.
   */
  async stop(sandboxId: string): Promise<void> {
    const workspace = new Workspace(this.deps.state, sandboxId);
    if (!(await workspace.isPulling())) return;
    const domain = await workspace.domain();
    const pulls = this.#pulls(domain);
    for (const { target } of pulls) await this.deps.blockPull.abort(sandboxId, target);
    const live = await this.deps.blockPull.disks(sandboxId);
    const isFlat = await this.#settle(workspace, domain, pulls, live);
    if (live.length === 0) await mend(pulls);
    await workspace.unmarkPulling();
    if (isFlat) await this.deps.references.sweep();
  }

  /**
   * Writes down which disks refer to their source alone, as the living domain has it. When all do by domain.xml, only
   * spec.json was not written any more: that is made up for, whether there is a domain or not.
   */
  async #settle(
    workspace: Workspace,
    domain: Element,
    pulls: readonly Pull[],
    live: readonly LayeredDisk[],
  ): Promise<boolean> {
    const { sandboxId } = workspace;
    const spec = await workspace.spec();
    const whole = pulls.filter(({ target, active, bases }) => {
      const [top, below] = live.find((disk) => disk.target === target)?.layers ?? [];
      return top?.path === active.path && below?.path === bases[0].path;
    });
    if (spec === null || (whole.length === 0 && pulls.length > 0)) return false;
    for (const { target, active, bases } of whole) {
      await this.deps.blockPull.flush(sandboxId, active.path);
      await flushFile(active.path); // a domain's cache mode may have QEMU leave that out
      putLayers(domain, target, [active, ...bases]);
    }
    const isFlat = whole.length === pulls.length;
    const bases = isFlat ? spec.bases.filter(({ path }) => !this.#isSnapshots(path)) : spec.bases;
    await workspace.change({ ...spec, bases, snapshots: isFlat ? [] : spec.snapshots }, domain);
    return isFlat;
  }

  #pulls(domain: Element): Pull[] {
    return layeredDisks(domain).flatMap(({ target, layers: [active, ...below] }) => {
      const snapshots = below.filter(({ path }) => this.#isSnapshots(path));
      const [base, ...rest] = below.filter(({ path }) => !this.#isSnapshots(path));
      return snapshots.length === 0 || !base ? [] : [{ target, active, snapshots, bases: [base, ...rest] }];
    });
  }

  #isSnapshots(path: string): boolean {
    return dirname(dirname(path)) === this.deps.state.snapshots;
  }

  /** The copy is at most as large as all that is copied from. */
  async #checkRoom(sandboxId: string, pulls: readonly Pull[]): Promise<void> {
    const files = await Promise.all(pulls.flatMap(({ snapshots }) => snapshots).map(({ path }) => stat(path)));
    const needed = files.reduce((sum, { blocks }) => sum + blocks * 512, 0);
    const { bavail, bsize } = await statfs(this.deps.state.sandboxes);
    if (bavail * bsize >= needed + SPARE_BYTES) return;
    const [wanted, free] = [needed + SPARE_BYTES, bavail * bsize].map((bytes) => Math.ceil(bytes / 1_048_576));
    throw new MayflyError(
      'flatten_failed',
      `The disks of ${sandboxId} refer to ${pulls[0]?.snapshots.length} snapshots, and stay so: to copy what they read ` +
        `from these the host needs ${wanted} MiB, and has ${free}. Delete snapshots or sandboxes, or give it more room.`,
    );
  }
}

/**
 * QEMU names the new base in an image when all is copied, but may have died before it wrote down where the copies lie.
 * Then only what the domain says is right.
 */
async function mend(pulls: readonly Pull[]): Promise<void> {
  for (const { active, snapshots } of pulls) {
    const [below] = snapshots;
    if (below) await nameBacking(active.path, below);
  }
}
