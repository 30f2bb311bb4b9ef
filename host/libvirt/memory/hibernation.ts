import { MayflyError } from '../../../model/errors.ts';
import { macAddress } from '../../../model/ids.ts';
import { withStepError } from '../../os/exec.ts';
import type { StepContext } from '../../step-context.ts';
import { VirshError } from '../client/virsh.ts';
import { wakingXml } from '../domain-xml/waking-xml.ts';
import { Workspace } from '../layers/workspace.ts';
import { Flattening } from '../live/flattening.ts';
import { maxMemoryKib } from '../output/job-info.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { MemoryDigest } from './memory-digest.ts';

/** Timeout of writing or reading memory by virsh, ms. */
const MEMORY_TIMEOUT_MS = 600_000;

/**
 * Hibernation of domains: libvirt saves their memory (`virsh managedsave`) and turns them off. A domain's CPUs never
 * run while saved memory of it exists: it is suspended before the save, and the saved memory is removed before it
 * resumes. So the saved memory is always valid, after any kill in between
 * (docs/decisions/0010-memory-and-hibernate.md).
 */
export class Hibernation {
  constructor(private readonly deps: LibvirtTools) {}

  async holds(sandboxId: string): Promise<boolean> {
    return (await this.#checkSaved(sandboxId)) === null;
  }

  /** @throws MayflyError sandbox_not_running, hibernate_failed */
  async hibernate(sandboxId: string, context: StepContext): Promise<void> {
    const { domains, jobs, saved, virsh } = this.deps;
    await jobs.ended(sandboxId, context);
    const state = (await domains.describe(sandboxId))?.state;
    const digest = this.#digestOf(sandboxId);
    if (state === 'shut_off' && (await this.holds(sandboxId))) return await digest.record(context.signal);
    if (state !== 'running' && state !== 'paused') throw notRunning(sandboxId, 'hibernated', state);
    await new Flattening(this.deps).stop(sandboxId); // libvirt saves no machine while a disk of it is copied
    const memoryKib = maxMemoryKib(await virsh.run(['dominfo', sandboxId]));
    if (memoryKib === null)
      throw new MayflyError('hibernate_failed', `libvirt does not say how large ${sandboxId} is.`);
    await saved.refuseWithoutRoom(sandboxId, memoryKib);
    await domains.bring(sandboxId, 'paused');
    context.alive('its memory is being saved');
    await digest.forget();
    await this.#save(sandboxId, context.signal);
    context.alive('its memory is being hashed');
    await digest.record(context.signal);
  }

  #digestOf(sandboxId: string): MemoryDigest {
    const { saved, state } = this.deps;
    return new MemoryDigest(saved.of(sandboxId), new Workspace(state, sandboxId).memoryDigest);
  }

  /**
   * Saves the memory. QEMU refuses a second save of a machine that has not run since: its libvirtd died at the end of
   * the first. Then the machine runs for a moment, after the saved memory is removed.
   */
  async #save(sandboxId: string, signal: AbortSignal): Promise<void> {
    const { domains, virsh } = this.deps;
    const save = () => this.#run('hibernate_failed', ['managedsave', sandboxId], signal);
    try {
      await save();
    } catch (error) {
      if (!(error instanceof MayflyError && /paused due to previous migration/i.test(error.message))) throw error;
      await virsh.run(['managedsave-remove', sandboxId]);
      await domains.bring(sandboxId, 'running');
      await domains.bring(sandboxId, 'paused');
      await save();
    }
  }

  /** @throws MayflyError sandbox_not_running, wake_failed */
  async wake(sandboxId: string, wished: 'running' | 'paused', context: StepContext): Promise<void> {
    await this.#loadMemory(sandboxId, context);
    if (wished === 'paused') return await this.deps.domains.bring(sandboxId, 'paused');
    await this.goOn(sandboxId);
  }

  /**
   * Resumes with the right time. Its address may be another's by now: the guest requests a new lease when its link
   * comes back. @throws MayflyError sandbox_not_running
   */
  async goOn(sandboxId: string): Promise<void> {
    const { domains, leases, agent } = this.deps;
    const mac = macAddress(sandboxId);
    const isLost = (await leases.current(mac)) === null && (await domains.describe(sandboxId))?.state === 'paused';
    if (isLost) await domains.setLink(sandboxId, mac, 'down');
    await domains.bring(sandboxId, 'running');
    await agent.setClock(sandboxId);
    if (isLost) await domains.setLink(sandboxId, mac, 'up');
  }

  /** Brings its memory to RAM and removes the saved memory. A domain that was off is paused then. */
  async #loadMemory(sandboxId: string, context: StepContext): Promise<void> {
    const { domains, jobs, virsh } = this.deps;
    if ((await jobs.of(sandboxId)) === 'Save') await jobs.abort(sandboxId);
    await jobs.ended(sandboxId, context);
    const state = (await domains.describe(sandboxId))?.state;
    if (state === 'shut_off') await this.#load(sandboxId, context);
    else if (state !== 'running' && state !== 'paused') throw notRunning(sandboxId, 'woken', state);
    await virsh.run(['managedsave-remove', sandboxId]);
    await this.#digestOf(sandboxId).forget();
  }

  /** Starts from saved memory, checked first: libvirt would boot the machine afresh if a save was cut off. */
  async #load(sandboxId: string, context: StepContext): Promise<void> {
    const flaw = await this.#checkSaved(sandboxId);
    if (flaw === 'none') throw notRunning(sandboxId, 'woken', 'off, and its memory was not saved');
    if (flaw !== null) {
      throw new MayflyError('wake_failed', `What was saved of the memory of ${sandboxId} cannot be read: ${flaw}`);
    }
    await this.#assertUnchanged(sandboxId, context.signal);
    await this.#updateDiskNames(sandboxId);
    context.alive('its memory is being read');
    await this.#run('wake_failed', ['start', sandboxId, '--paused'], context.signal);
  }

  /** Refuses changed memory, which QEMU would run. @throws MayflyError wake_failed */
  async #assertUnchanged(sandboxId: string, signal: AbortSignal): Promise<void> {
    const why = await this.#digestOf(sandboxId)
      .isUnchanged(signal)
      .then((isUnchanged) => (isUnchanged ? null : 'it has changed'))
      .catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error;
        return error.message;
      });
    if (why === null) return;
    throw new MayflyError('wake_failed', `The saved memory ${this.deps.saved.of(sandboxId)} is damaged: ${why}`);
  }

  /** Updates the names of its layers: libvirt has those from before a snapshot, which do not exist. */
  async #updateDiskNames(sandboxId: string): Promise<void> {
    const { virsh, state } = this.deps;
    const saved = await virsh.run(['managedsave-dumpxml', sandboxId, '--security-info']);
    await virsh.defineSaved(sandboxId, wakingXml(saved, await new Workspace(state, sandboxId).domain()));
  }

  /** Returns why the saved memory cannot be woken; `none` when there is none, null when it can. */
  async #checkSaved(sandboxId: string): Promise<string | null> {
    try {
      await this.deps.virsh.run(['managedsave-dumpxml', sandboxId]);
      return null;
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      return /does not have managed save image/i.test(error.stderr) ? 'none' : error.message;
    }
  }

  async #run(code: 'hibernate_failed' | 'wake_failed', argv: readonly string[], signal: AbortSignal): Promise<void> {
    await withStepError(this.deps.virsh.run(argv, { signal, timeoutMs: MEMORY_TIMEOUT_MS }), code, 'libvirt refused');
  }
}

function notRunning(sandboxId: string, wished: string, state: string | undefined): MayflyError {
  return new MayflyError('sandbox_not_running', `${sandboxId} cannot be ${wished}: it is ${state ?? 'not there'}.`);
}
