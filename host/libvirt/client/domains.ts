import { MayflyError } from '../../../model/errors.ts';
import { domainUuid } from '../../../model/ids.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { withStepError } from '../../os/exec.ts';
import { poll } from '../../os/poll.ts';
import { interfaceMacs } from '../output/addresses.ts';
import { listedDisks } from '../output/disk-list.ts';
import { type DomainState, domainState, isActive, isStoppedByError } from '../output/domain-state.ts';
import { residentSizes } from '../output/domain-stats.ts';
import { removeFailure, startFailure } from '../output/failures.ts';
import { tableRows } from '../output/tables.ts';
import { nullIfMissing, nullIfRefused, type Virsh, VirshError } from './virsh.ts';

export interface ListedDomain {
  uuid: string;
  name: string;
}

/** Options of undefine for data besides the domain; without these it refuses, or leaves files. */
export const UNDEFINE = ['--nvram', '--managed-save', '--snapshots-metadata', '--checkpoints-metadata'];

/** Timeout of a start by another process, ms. */
const START_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** Domains of the sandboxes, addressed by name, which is the sandbox id. */
export class Domains {
  /** Command behind {@link list}, for a proof. */
  readonly lookedAt = 'virsh list --all --uuid --name';

  constructor(private readonly virsh: Virsh) {}

  async list(): Promise<ListedDomain[]> {
    const rows = tableRows(await this.virsh.run(['list', '--all', '--uuid', '--name']));
    return rows.flatMap((row) => {
      const [, uuid, name] = /^\s*([0-9a-f-]{36})\s+(.*?)\s*$/.exec(row) ?? [];
      return uuid === undefined || name === undefined ? [] : [{ uuid, name }];
    });
  }

  async find(sandboxId: string): Promise<ListedDomain | null> {
    const uuid = domainUuid(sandboxId);
    return (await this.list()).find((domain) => domain.name === sandboxId || domain.uuid === uuid) ?? null;
  }

  /** Defines the domain and starts it, and returns when its CPUs run. @throws MayflyError boot_failed */
  async start(sandboxId: string, xmlFile: string, signal: AbortSignal): Promise<void> {
    try {
      await this.virsh.run(['define', xmlFile], { signal });
      await this.virsh.run(['start', sandboxId], { signal });
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      if (error.command !== 'start' || startFailure(error.stderr).result !== 'ok') {
        throw new MayflyError('boot_failed', `${sandboxId} did not start: ${error.message}`, { cause: error });
      }
      await this.#awaitForeignStart(sandboxId, signal);
    }
  }

  /**
   * Waits for a start that libvirt continues after its virsh was killed: the domain is active, but paused until QEMU is
   * set up.
   */
  async #awaitForeignStart(sandboxId: string, signal: AbortSignal): Promise<void> {
    const look = async () => {
      const state = await this.#stateOf(sandboxId);
      return state === 'running' || !isActive(state) ? state : null;
    };
    const state = await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: START_TIMEOUT_MS, signal });
    if (state === 'running') return;
    throw new MayflyError('boot_failed', `${sandboxId} was being started and is now ${state ?? 'still not running'}.`);
  }

  /** @throws MayflyError boot_failed when the domain is not active, or absent */
  async checkAlive(sandboxId: string): Promise<void> {
    const state = await this.#stateOf(sandboxId);
    if (!isActive(state)) throw new MayflyError('boot_failed', `${sandboxId} ended while it booted: ${state}.`);
  }

  /** Returns state and MAC addresses of the domain, in one run of virsh; null when it is absent. */
  async describe(sandboxId: string): Promise<{ state: DomainState; macs: string[] } | null> {
    const said = await nullIfMissing(this.virsh.run([`domstate ${sandboxId}; domiflist ${sandboxId}`]));
    if (said === null) return null;
    const [state = '', ...rest] = said.split('\n');
    return { state: domainState(state), macs: interfaceMacs(rest.join('\n')) };
  }

  /** Stops or resumes the CPUs, unless they are in that state. @throws MayflyError sandbox_not_running */
  async bring(sandboxId: string, wished: 'paused' | 'running'): Promise<void> {
    if ((await this.describe(sandboxId))?.state === wished) return;
    try {
      await this.virsh.run([wished === 'paused' ? 'suspend' : 'resume', sandboxId]);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      const state = (await this.describe(sandboxId))?.state ?? 'not there';
      if (state === wished) return;
      throw new MayflyError('sandbox_not_running', `${sandboxId} cannot be ${wished}: it is ${state}.`, {
        cause: error,
      });
    }
  }

  /** Connects or disconnects a network cable, as the guest sees it. */
  async setLink(sandboxId: string, macAddress: string, wished: 'up' | 'down'): Promise<void> {
    await this.virsh.run(['domif-setlink', sandboxId, macAddress, wished]);
  }

  /**
   * Returns the sandboxes that QEMU suspended after a failed disk write. One query for all, and one more for each
   * paused domain.
   */
  async stoppedByErrors(): Promise<string[]> {
    const listed = await this.virsh.run(['list', '--state-paused', '--name']);
    const paused = tableRows(listed)
      .map((row) => row.trim())
      .filter(isSandboxId);
    const found: string[] = [];
    for (const sandboxId of paused) {
      if (await this.isStoppedByError(sandboxId)) found.push(sandboxId);
    }
    return found;
  }

  async isStoppedByError(sandboxId: string): Promise<boolean> {
    return isStoppedByError((await nullIfMissing(this.virsh.run(['domstate', sandboxId, '--reason']))) ?? '');
  }

  /**
   * Returns the files that the disks write to, as libvirt has them; null without a domain. Waits for a libvirt
   * operation in progress on an active domain, even if its requester was killed.
   */
  async diskFiles(sandboxId: string): Promise<string[] | null> {
    // needs the domain's job lock, so it waits until the present job ends; an inactive domain has none
    await nullIfRefused(this.virsh.run(['domblkerror', sandboxId]));
    return this.listedFiles(sandboxId);
  }

  /** Returns the same files as listed now, without waiting. */
  async listedFiles(sandboxId: string): Promise<string[] | null> {
    const listed = await nullIfMissing(this.virsh.run(['domblklist', sandboxId, '--details']));
    return listed === null ? null : listedDisks(listed).map(({ source }) => source);
  }

  /** Returns the resident memory of the domain's QEMU, KiB; 0 when it does not run. */
  async residentKib(sandboxId: string): Promise<number> {
    const figures = (await nullIfRefused(this.virsh.run(['dommemstat', sandboxId]))) ?? '';
    return Number(/^rss (\d+)$/m.exec(figures)?.[1] ?? '0');
  }

  /**
   * Returns the same for every running sandbox, by one query. Domains with a libvirt job are left out instead of
   * awaited.
   */
  async residentKibOfAll(): Promise<Map<string, number>> {
    return residentSizes(await this.virsh.run(['domstats', '--balloon', '--list-active', '--nowait']));
  }

  /** Destroys and undefines the domain. Never its storage: that is not libvirt's, and may be the source's. */
  async remove(sandboxId: string): Promise<void> {
    await this.#end(['destroy', sandboxId]);
    await this.#end(['undefine', sandboxId, ...UNDEFINE]);
    if ((await this.find(sandboxId)) === null) return;
    throw new MayflyError('cleanup_incomplete', `The domain ${sandboxId} is still listed after destroy and undefine.`);
  }

  async #end(args: readonly string[]): Promise<void> {
    try {
      await this.virsh.run(args);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      if (removeFailure(error.stderr).result === 'ok') return;
      if (/transient domain/i.test(error.stderr)) return; // ended; nothing to undefine
      throw new MayflyError('cleanup_incomplete', error.message, { cause: error });
    }
  }

  async #stateOf(sandboxId: string): Promise<DomainState> {
    const state = this.virsh.run(['domstate', sandboxId]);
    return domainState(await withStepError(state, 'boot_failed', `${sandboxId} is not there any more`));
  }
}
