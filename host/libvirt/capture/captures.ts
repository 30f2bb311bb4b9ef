import { MayflyError } from '../../../model/errors.ts';
import type { SavedCapture } from '../../../model/snapshots/capture.ts';
import type { CaptureRequest, HostCaptures, PresentCapture } from '../../captures.ts';
import { freezeImage } from '../../disk/frozen-image.ts';
import { maxCopyBytes } from '../../disk/image.ts';
import type { StepContext } from '../../step-context.ts';
import { buildXml, child, childElements, element, ensureChild, removeChildren } from '../client/xml.ts';
import { planDisks } from '../domain-xml/clone-disks.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import { allCaptures, CaptureFolder, type CaptureSpec } from '../layers/capture-folder.ts';
import { activeXml } from '../layers/sources.ts';
import { BackupJob } from './backup-job.ts';
import { CaptureReferences } from './capture-references.ts';
import { type CaptureTools, Capturing } from './capturing.ts';
import { Checkpoints } from './checkpoints.ts';

/** Captures by libvirt's backup job. docs/decisions/0012-captures.md lists the state after a crash at each point. */
export class LibvirtCaptures implements HostCaptures {
  readonly #capturing: Capturing;
  readonly #checkpoints: Checkpoints;
  readonly #references: CaptureReferences;

  constructor(private readonly deps: CaptureTools) {
    this.#checkpoints = new Checkpoints(deps.virsh, deps.state);
    this.#capturing = new Capturing(deps, this.#checkpoints);
    this.#references = new CaptureReferences(deps.state);
  }

  async sizeOf(source: string): Promise<number> {
    const { sources } = this.deps;
    const plans = planDisks(parseDomain(activeXml(await sources.get(source))), '/dev/null');
    let sum = 0;
    for (const { base, format } of plans) {
      sum += await maxCopyBytes(await sources.pathOf(base), format);
    }
    return sum;
  }

  begin = (request: CaptureRequest, context: StepContext) => this.#capturing.begin(request, context);
  thaw = (captureId: string) => this.#capturing.thaw(new CaptureFolder(this.deps.state, captureId));

  /**
   * Thaws sources whose capture was killed, without waiting for its saga. A failed thaw stays recorded for that saga,
   * and for the next start of the host.
   */
  async thawAll(): Promise<void> {
    const thawed = (await allCaptures(this.deps.state)).map(async ({ captureId }) => {
      try {
        await this.thaw(captureId);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        process.emitWarning(`The source of ${captureId} may be frozen, and could not be thawed: ${why}`);
      }
    });
    await Promise.all(thawed);
  }

  async wait(captureId: string, context: StepContext): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    if ((await folder.spec()) !== null) return;
    const [plan, attempt] = await Promise.all([folder.plan(), folder.attempt()]);
    if (plan === null || attempt === null) throw notStarted(captureId);
    if (attempt.copied) return;
    await new BackupJob(this.deps.virsh, folder, plan).ended(context.signal, (text) => context.alive(text));
    await folder.writeAttempt({ ...attempt, copied: true });
  }

  async verify(captureId: string, context: StepContext): Promise<SavedCapture> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    const known = await folder.spec();
    if (known !== null) return known.saved;
    const [plan, attempt] = await Promise.all([folder.plan(), folder.attempt()]);
    if (plan === null || !attempt?.copied) throw notStarted(captureId);
    const disks: SavedCapture['disks'] = [];
    for (const { target } of plan.disks) {
      context.alive(`checking ${target}`);
      const image = folder.targetOf(target);
      disks.push({ target, ...(await freezeImage(image, this.deps.digests, 'capture_failed', context.signal)) });
    }
    const saved = {
      disks,
      sizeBytes: disks.reduce((sum, { storedBytes }) => sum + storedBytes, 0),
      quiesced: attempt.quiesce,
      capturedAt: attempt.at,
      parentId: plan.parentId,
      fullBecause: plan.fullBecause,
    };
    await folder.writeSpec({ plan, saved });
    return saved;
  }

  async keep(captureId: string): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    const spec = await folder.spec();
    if (spec === null) throw notStarted(captureId);
    if (!(await folder.isWhole())) await folder.keep(spec, machineOf(folder, spec, await folder.sourceXml()));
    await folder.tidy();
    for (const disk of spec.saved.disks) {
      await this.deps.digests.moved(folder.targetOf(disk.target), folder.imageOf(disk));
    }
  }

  async abort(captureId: string): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    const plan = await folder.plan();
    if (plan !== null) await new BackupJob(this.deps.virsh, folder, plan).abort();
  }

  async remove(captureId: string): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    await this.#references.without(folder, async () => {
      await this.abort(captureId);
      await this.thaw(captureId);
      const plan = (await folder.plan()) ?? (await folder.spec())?.plan;
      // also of a capture without one: an earlier attempt at it may have made it
      if (plan) await this.#checkpoints.remove(plan.domain, captureId);
      await folder.drop();
      for (const path of [folder.path, folder.making]) await this.deps.digests.forget(path);
    });
  }

  async list(): Promise<PresentCapture[]> {
    const found = await allCaptures(this.deps.state);
    return await Promise.all(
      found.map(async (folder) => ({
        captureId: folder.captureId,
        state: (await folder.isWhole()) ? ('whole' as const) : ('half' as const),
      })),
    );
  }

  /**
   * Runs `use` with the captured machine's XML, whose disks are the capture's, while these are protected from removal.
   * @throws MayflyError capture_not_found, source_changed
   */
  async on<T>(captureId: string, use: (xml: string) => Promise<T>): Promise<T> {
    return await this.#references.during(captureId, async () => {
      const folder = new CaptureFolder(this.deps.state, captureId);
      if (!(await folder.isWhole())) {
        throw new MayflyError('capture_not_found', `${captureId} is not on this host, or has been deleted.`);
      }
      for (let layer: CaptureFolder | null = folder; layer !== null; ) layer = await this.#checkedParent(layer);
      return await use(await folder.domainXml());
    });
  }

  /** Compares the content of a capture's images with their names. @returns the parent capture */
  async #checkedParent(folder: CaptureFolder): Promise<CaptureFolder | null> {
    const spec = await folder.spec();
    for (const disk of spec?.saved.disks ?? []) {
      const image = folder.imageOf(disk);
      if ((await this.deps.digests.protect(image)) === disk.sha256) continue;
      throw new MayflyError('source_changed', `${image} has changed since it was captured.`);
    }
    const parentId = spec?.saved.parentId ?? null;
    return parentId === null ? null : new CaptureFolder(this.deps.state, parentId);
  }
}

function machineOf(folder: CaptureFolder, { saved }: CaptureSpec, sourceXml: string): string {
  const domain = parseDomain(sourceXml);
  const devices = child(domain, 'devices');
  for (const disk of devices ? childElements(devices, 'disk') : []) {
    const image = saved.disks.find(({ target }) => target === child(disk, 'target')?.attributes['dev']);
    if (!image) continue;
    const driver = ensureChild(disk, 'driver');
    driver.attributes = { ...driver.attributes, name: 'qemu', type: 'qcow2' };
    disk.attributes = { ...disk.attributes, type: 'file', device: 'disk' };
    removeChildren(disk, ['source', 'backingStore']);
    disk.children.push(element('source', { file: folder.imageOf(image) }));
  }
  return buildXml(domain);
}

function notStarted(captureId: string): MayflyError {
  return new MayflyError('capture_failed', `${captureId} has not been copied on this host: there is nothing to check.`);
}
