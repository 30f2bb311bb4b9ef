import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { domainUuid } from '../../../model/ids.ts';
import type { BakedImage } from '../../../model/snapshots/baked-source.ts';
import type { SavedDisk } from '../../../model/snapshots/snapshot.ts';
import type { BakeRequest, HostBaking } from '../../baking.ts';
import { BakedFolder } from '../../disk/baked-folder.ts';
import { freezeImage } from '../../disk/frozen-image.ts';
import { maxCopyBytes } from '../../disk/image.ts';
import { exec, withStepError } from '../../os/exec.ts';
import type { StepContext } from '../../step-context.ts';
import { UNDEFINE } from '../client/domains.ts';
import { nullIfMissing } from '../client/virsh.ts';
import { buildXml } from '../client/xml.ts';
import { bakedXml, bootFiles } from '../domain-xml/baked-xml.ts';
import { planDisks } from '../domain-xml/clone-disks.ts';
import { layeredDisks } from '../layers/disk-layers.ts';
import { Workspace } from '../layers/workspace.ts';
import { isActive } from '../output/domain-state.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { Builder } from './builder.ts';
import {
  COPY_MS,
  copyImages,
  copyWhole,
  nullIfNoSource,
  ROOT_DISK,
  readCopiedMachine,
  removeCopiedMachine,
} from './copying.ts';

/**
 * Bakes persistent domains, which are libvirt's sources. The guest is cleaned from inside, where its file systems are
 * mounted anyway: the host reads none of them. The copy flattens the whole chain, so it refers to nothing.
 */
export class LibvirtBaking implements HostBaking {
  readonly #builder: Builder;

  constructor(private readonly deps: LibvirtTools) {
    this.#builder = new Builder(deps.virsh, deps.domains, deps.agent);
  }

  async claim(request: BakeRequest): Promise<void> {
    const folder = this.#folder(request.name);
    await this.#assertNameFree(folder, request);
    await folder.stage(request);
  }

  clean = ({ builderId }: BakeRequest, context: StepContext) => this.#builder.clean(builderId, context);
  shutDown = ({ builderId }: BakeRequest, context: StepContext) => this.#builder.shutDown(builderId, context);

  async sizeOf(request: BakeRequest): Promise<number> {
    const workspace = new Workspace(this.deps.state, request.builderId);
    const isMade = (await this.#folder(request.name).imageOf(request)) !== null;
    if (isMade || (await workspace.spec()) === null) return 0;
    let sum = 0;
    for (const { layers } of layeredDisks(await workspace.domain())) {
      const [{ path, format }] = layers;
      sum += await orCopyFailed(path, maxCopyBytes(path, format));
    }
    return sum;
  }

  async flatten(request: BakeRequest, context: StepContext): Promise<BakedImage> {
    const { state, domains } = this.deps;
    const workspace = new Workspace(state, request.builderId);
    return await this.#folder(request.name).fill(request, async (folder) => {
      const isOn = isActive((await domains.describe(request.builderId))?.state ?? 'shut_off');
      if (isOn || (await workspace.spec()) === null) {
        const why = isOn ? 'it is on, so its disks are being written' : 'it is not on this host any more';
        throw new MayflyError('bake_failed', `${request.builderId} cannot be copied: ${why}.`);
      }
      await removeCopiedMachine(folder);
      const domain = await workspace.domain();
      const disks: SavedDisk[] = [];
      const plans = planDisks(domain, join(folder, ROOT_DISK));
      for (const { target, layers } of layeredDisks(domain)) {
        const plan = plans.find((one) => one.target === target);
        if (!plan) continue;
        context.alive(`copying ${target}`);
        disks.push({ target, ...(await this.#copyDisk(layers[0], plan.overlay, context.signal)) });
      }
      for (const { name, path } of bootFiles(domain)) await copyWhole(path, join(folder, name));
      return { disks, sizeBytes: disks.reduce((sum, { storedBytes }) => sum + storedBytes, 0) };
    });
  }

  async bakedOf(like: string, snapshotId: string): Promise<BakedImage | null> {
    const source = await nullIfNoSource(this.deps.sources.get(like));
    return source?.busy === null ? await this.#folder(like).madeOf(snapshotId) : null;
  }

  async copyBaked(request: BakeRequest, like: string, context: StepContext): Promise<BakedImage | null> {
    const { digests, sources, use } = this.deps;
    const copied = use.by(like, async () => {
      const [image, { xml }] = [await this.bakedOf(like, request.snapshotId), await sources.get(like)];
      if (image === null) return null;
      const from = { folder: this.#folder(like), image, xml };
      return await this.#folder(request.name).fill(request, (staging) =>
        copyImages(from, staging, { digests, context }),
      );
    });
    return await orCopyFailed(like, nullIfNoSource(copied), context.signal);
  }

  async publish(request: BakeRequest, { signal }: StepContext): Promise<void> {
    const { state, digests, virsh } = this.deps;
    const folder = this.#folder(request.name);
    signal.throwIfAborted();
    await this.#assertNameFree(folder, request);
    await folder.publish(request);
    const builder = (await readCopiedMachine(folder.path)) ?? (await new Workspace(state, request.builderId).domain());
    const disks = (await folder.about())?.image?.disks ?? [];
    const rootDisk = join(folder.path, ROOT_DISK);
    for (const { target, overlay } of planDisks(builder, rootDisk)) {
      await digests.moved(join(folder.staging, basename(overlay)), overlay);
      const sha256 = await digests.protect(overlay);
      if (disks.some((disk) => disk.target === target && disk.sha256 === sha256)) continue;
      throw new MayflyError('bake_failed', `${overlay} is not what was copied.`);
    }
    const boot = new Map(bootFiles(builder).map(({ name }) => [name, join(folder.path, name)]));
    const uuid = domainUuid(request.sourceId);
    const xml = bakedXml(buildXml(builder), request, { uuid, rootDisk, boot });
    await withStepError(virsh.define('define', xml), 'bake_failed', 'libvirt does not take the source');
  }

  async retract({ sourceId, name, bakeId }: BakeRequest): Promise<void> {
    if (await this.#folder(name).isOf(bakeId)) await this.remove({ sourceId, name });
  }

  discard = (request: BakeRequest) => this.#folder(request.name).discard(request);

  async remove({ sourceId, name }: { sourceId: string; name: string }): Promise<void> {
    const folder = this.#folder(name);
    await this.deps.use.without(name, async () => {
      await folder.discard({ sourceId });
      await folder.isThere(sourceId);
      const referrers = await this.deps.references.onFiles(folder.path);
      if (referrers !== null) throw new MayflyError('source_in_use', `${name} is referred to by ${referrers}.`);
      await this.#undefine(domainUuid(sourceId), name);
      await folder.drop();
      await this.deps.digests.forget(folder.path);
    });
  }

  /** Undefines by UUID: virsh would interpret some names as something else. */
  async #undefine(uuid: string, name: string): Promise<void> {
    const state = await nullIfMissing(this.deps.virsh.run(['domstate', uuid]));
    if (state === null) return;
    if (!/shut off|crashed/.test(state)) {
      throw new MayflyError('source_running', `${name} is ${state.trim()}: shut it down, then delete it.`);
    }
    await nullIfMissing(this.deps.virsh.run(['undefine', uuid, ...UNDEFINE]));
  }

  async #copyDisk(
    from: { path: string; format: string },
    to: string,
    signal: AbortSignal,
  ): Promise<Omit<SavedDisk, 'target'>> {
    await rm(to, { force: true });
    const convert = ['convert', '-q', '-f', from.format, '-O', 'qcow2', '--', from.path, to];
    await orCopyFailed(from.path, exec('qemu-img', convert, { signal, timeoutMs: COPY_MS }), signal);
    return await freezeImage(to, this.deps.digests, 'bake_failed', signal);
  }

  /** @throws MayflyError source_exists when libvirt has a domain of that name which is not this bake's */
  async #assertNameFree(folder: BakedFolder, { bakeId, name }: BakeRequest): Promise<void> {
    if ((await folder.isOf(bakeId)) || (await nullIfNoSource(this.deps.sources.get(name))) === null) return;
    throw new MayflyError('source_exists', `libvirt has a domain named ${JSON.stringify(name)}.`);
  }

  #folder(name: string): BakedFolder {
    return new BakedFolder(join(this.deps.state.images, 'baked'), name);
  }
}

/** @throws MayflyError bake_failed when a program failed */
function orCopyFailed<T>(path: string, copy: Promise<T>, signal?: AbortSignal): Promise<T> {
  return withStepError(copy, 'bake_failed', `The disk ${path} could not be copied`, signal);
}
