import { rm } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import type { CaptureRequest } from '../../captures.ts';
import { imageChain } from '../../disk/image.ts';
import { exec, withStepError } from '../../os/exec.ts';
import type { StepContext } from '../../step-context.ts';
import { VirshError } from '../client/virsh.ts';
import { child, textOf } from '../client/xml.ts';
import { planDisks } from '../domain-xml/clone-disks.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import { CaptureFolder, type CapturePlan, wholeCaptures } from '../layers/capture-folder.ts';
import { activeXml } from '../layers/sources.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { BackupJob, wasBackup } from './backup-job.ts';
import type { Checkpoints } from './checkpoints.ts';

export type CaptureTools = Pick<LibvirtTools, 'state' | 'virsh' | 'sources' | 'agent' | 'digests'>;

/** Limit of captures in a chain: each one adds a file to every read of a clone. */
const LONGEST_CHAIN = 16;

/** Running source of a capture. */
type Machine = Pick<CapturePlan, 'source' | 'domain' | 'disks'> & { formats: string[] };

/** First step of a capture: everything until the guest is thawed and the job runs. */
export class Capturing {
  constructor(
    private readonly deps: CaptureTools,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** @throws MayflyError source_not_found, source_not_running, source_unsafe, capture_failed */
  async begin({ captureId, source }: CaptureRequest, context: StepContext): Promise<void> {
    const folder = new CaptureFolder(this.deps.state, captureId);
    if ((await folder.spec()) !== null) return;
    if (await this.#hasStarted(folder)) return await this.thaw(folder);
    await this.thaw(folder);
    const machine = await this.#machine(folder, source);
    await new BackupJob(this.deps.virsh, folder, machine).checkIdle();
    context.signal.throwIfAborted();
    context.alive('asking libvirt');
    await this.#startBestCopy(folder, machine, context.signal);
  }

  /** Ends the freeze of an attempt, unless it is recorded as ended. */
  async thaw(folder: CaptureFolder): Promise<void> {
    const [plan, attempt] = await Promise.all([folder.plan(), folder.attempt()]);
    if (plan === null || attempt === null || attempt.thawed) return;
    if (attempt.quiesce) await this.deps.agent.thaw(plan.domain);
    await folder.writeAttempt({ ...attempt, thawed: true });
  }

  /** Starts an incremental copy where possible, else a full one; each with a checkpoint where possible. */
  async #startBestCopy(folder: CaptureFolder, machine: Machine, signal: AbortSignal): Promise<void> {
    const { formats, ...same } = machine;
    const parent = await this.#parentFor(machine);
    let fullBecause = parent.whyNone;
    const { parentId } = parent;
    if (parentId !== null) {
      const refusal = await this.#attempt(folder, { ...same, parentId, fullBecause: null, checkpoint: true }, signal);
      if (refusal === null) return;
      fullBecause = `libvirt cannot copy what changed since ${parentId}: ${refusal}`;
    }
    const all = { ...same, parentId: null, fullBecause };
    if (formats.every((format) => format === 'qcow2')) {
      const refusal = await this.#attempt(folder, { ...all, checkpoint: true }, signal);
      if (refusal === null) return;
      all.fullBecause = `libvirt can make no checkpoint: ${refusal}`;
    }
    const refusal = await this.#attempt(folder, { ...all, checkpoint: false }, signal);
    if (refusal !== null)
      throw new MayflyError('capture_failed', `libvirt does not copy ${machine.source}: ${refusal}`);
  }

  /** Returns the newest capture of the source, if its checkpoint exists and its disks have the same size. */
  async #parentFor({ source, domain, disks, formats }: Machine): Promise<ParentChoice> {
    const none = (whyNone: string): ParentChoice => ({ parentId: null, whyNone });
    if (formats.some((format) => format !== 'qcow2')) return none('a disk of the source is not qcow2');
    const captures = await Promise.all(
      (await wholeCaptures(this.deps.state)).map(async (folder) => ({ folder, spec: await folder.spec() })),
    );
    const parents = new Map(captures.map(({ folder, spec }) => [folder.captureId, spec?.saved.parentId ?? null]));
    const [newest] = captures
      .flatMap(({ folder, spec }) => (spec && spec.plan.domain === domain ? [{ id: folder.captureId, ...spec }] : []))
      .sort((a, b) => (a.saved.capturedAt < b.saved.capturedAt ? 1 : -1));
    if (!newest) return none(`there is no earlier capture of ${source}`);
    const { id, plan } = newest;
    if (JSON.stringify(plan.disks) !== JSON.stringify(disks)) return none(`the disks are not those of ${id} any more`);
    if (!plan.checkpoint || !(await this.checkpoints.has(domain, id))) return none(`${id} has no checkpoint`);
    let length = 1;
    for (let next = parents.get(id) ?? null; next !== null; next = parents.get(next) ?? null) length++;
    if (length >= LONGEST_CHAIN) return none(`${LONGEST_CHAIN} captures refer to each other already`);
    return { parentId: id, whyNone: null };
  }

  /**
   * Attempts once: freeze, begin, thaw at once.
   * @returns the reason of libvirt's refusal; null when the job has started
   */
  async #attempt(folder: CaptureFolder, plan: CapturePlan, signal: AbortSignal): Promise<string | null> {
    await folder.writePlan(plan);
    await this.#makeTargets(folder, plan, signal);
    const { agent, virsh } = this.deps;
    const job = new BackupJob(virsh, folder, plan);
    const canQuiesce = await agent.answers(plan.domain);
    await this.checkpoints.remove(plan.domain, folder.captureId); // an earlier attempt may have left it
    await job.forgetLast();
    signal.throwIfAborted();
    const wished = { quiesce: canQuiesce, at: new Date().toISOString(), thawed: false, copied: false };
    await folder.writeAttempt(wished);
    try {
      const quiesce = canQuiesce && (await agent.freeze(plan.domain));
      if (quiesce !== canQuiesce) await folder.writeAttempt({ ...wished, quiesce });
      await job.begin(plan);
      return null;
    } catch (error) {
      if (await this.#hasStarted(folder)) return null;
      if (!(error instanceof VirshError)) throw error;
      return error.message;
    } finally {
      await this.thaw(folder);
    }
  }

  /** Creates the empty target images, over the parent's where only changes are copied. */
  async #makeTargets(folder: CaptureFolder, plan: CapturePlan, signal: AbortSignal): Promise<void> {
    const parent = plan.parentId === null ? null : new CaptureFolder(this.deps.state, plan.parentId);
    const below = (await parent?.spec())?.saved.disks;
    for (const { target, virtualBytes } of plan.disks) {
      const path = folder.targetOf(target);
      await rm(path, { force: true });
      const base = below?.find((disk) => disk.target === target);
      const over = parent && base ? ['-F', 'qcow2', '-b', parent.imageOf(base)] : [];
      const create = ['create', '-q', '-f', 'qcow2', ...over, '--', path, String(virtualBytes)];
      await withStepError(exec('qemu-img', create, { signal }), 'capture_failed', `No image for ${target}`, signal);
    }
  }

  /** Queries libvirt, not a record: reports whether the job of this capture runs, or has run. */
  async #hasStarted(folder: CaptureFolder): Promise<boolean> {
    const [plan, attempt] = await Promise.all([folder.plan(), folder.attempt()]);
    if (plan === null || attempt === null) return false;
    const copy = await new BackupJob(this.deps.virsh, folder, plan).look();
    return copy.state === 'running' || wasBackup(copy.last);
  }

  async #machine(folder: CaptureFolder, name: string): Promise<Machine> {
    const { sources, virsh } = this.deps;
    const source = await sources.get(name);
    const active = parseDomain(activeXml(source));
    const domain = textOf(child(active, 'uuid'));
    await folder.make(await virsh.run(['dumpxml', domain, '--migratable'])); // as it runs, without runtime elements
    const disks: Machine['disks'] = [];
    const formats: string[] = [];
    for (const { target, base, format } of planDisks(active, '/dev/null')) {
      const [top] = await imageChain(await sources.pathOf(base), format);
      disks.push({ target, virtualBytes: top?.virtualBytes ?? 0 });
      formats.push(format);
    }
    return { source: name, domain, disks, formats };
  }
}

type ParentChoice = { parentId: string; whyNone: null } | { parentId: null; whyNone: string };
