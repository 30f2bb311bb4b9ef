import { MayflyError } from '../../../model/errors.ts';
import { domainUuid } from '../../../model/ids.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { orFail } from '../../os/exec.ts';
import { poll } from '../../os/poll.ts';
import { interfaceMacs } from '../output/addresses.ts';
import { listedDisks } from '../output/disk-list.ts';
import { type DomainState, domainState, isActive, isStoppedByError } from '../output/domain-state.ts';
import { residentSizes } from '../output/domain-stats.ts';
import { removeFailure, startFailure } from '../output/failures.ts';
import { tableRows } from '../output/tables.ts';
import { orMissing, orRefused, type Virsh, VirshError } from './virsh.ts';

export interface ListedDomain {
  uuid: string;
  name: string;
}

/** What undefine has to forget besides the domain; without these it refuses, or leaves files. */
export const UNDEFINE = ['--nvram', '--managed-save', '--snapshots-metadata', '--checkpoints-metadata'];

/** How long a start that another process asked for may still take. Milliseconds. */
const START_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** The sandboxes' domains: made, ended and looked at by name, which is the sandbox id. */
export class Domains {
  /** The look behind {@link list}, for a proof. */
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

  /**
   * Defines the domain and starts it, and returns when its CPUs run.
   * @throws MayflyError boot_failed
   */
  async start(sandboxId: string, xmlFile: string, signal: AbortSignal): Promise<void> {
    try {
      await this.virsh.run(['define', xmlFile], { signal });
      await this.virsh.run(['start', sandboxId], { signal });
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      if (error.command !== 'start' || startFailure(error.stderr).result !== 'ok') {
        throw new MayflyError('boot_failed', `${sandboxId} did not start: ${error.message}`, { cause: error });
      }
      await this.#startedByAnother(sandboxId, signal);
    }
  }

  /**
   * libvirt goes on starting a domain when the virsh that asked for it was killed: the domain is active, but paused
   * until QEMU is set up.
   */
  async #startedByAnother(sandboxId: string, signal: AbortSignal): Promise<void> {
    const look = async () => {
      const state = await this.#stateOf(sandboxId);
      return state === 'running' || !isActive(state) ? state : null;
    };
    const state = await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: START_TIMEOUT_MS, signal });
    if (state === 'running') return;
    throw new MayflyError('boot_failed', `${sandboxId} was being started and is now ${state ?? 'still not running'}.`);
  }

  /** @throws MayflyError boot_failed when the domain is not active, or not there */
  async checkAlive(sandboxId: string): Promise<void> {
    const state = await this.#stateOf(sandboxId);
    if (!isActive(state)) throw new MayflyError('boot_failed', `${sandboxId} ended while it booted: ${state}.`);
  }

  /** State and MAC addresses of the domain, in one run of virsh; null when there is none. */
  async describe(sandboxId: string): Promise<{ state: DomainState; macs: string[] } | null> {
    const said = await orMissing(this.virsh.run([`domstate ${sandboxId}; domiflist ${sandboxId}`]));
    if (said === null) return null;
    const [state = '', ...rest] = said.split('\n');
    return { state: domainState(state), macs: interfaceMacs(rest.join('\n')) };
  }

  /**
   * Stops the CPUs, or lets them go on, unless they are as wished.
   * @throws MayflyError sandbox_not_running
   */
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

  /** Plugs a network cable, or pulls it, as the guest sees it. */
  async setLink(sandboxId: string, macAddress: string, wished: 'up' | 'down'): Promise<void> {
    await this.virsh.run(['domif-setlink', sandboxId, macAddress, wished]);
  }

  /**
   * Those that QEMU has stopped since their disk failed to write. One question for all, and one more for each that is
   * paused, for whatever reason.
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
    return isStoppedByError((await orMissing(this.virsh.run(['domstate', sandboxId, '--reason']))) ?? '');
  }

  /**
   * The files that its disks are written to, by libvirt's account; null when there is no domain. What libvirt was doing
   * with an active domain has ended by then, also when whoever asked for it was killed.
   */
  async diskFiles(sandboxId: string): Promise<string[] | null> {
    // needs the domain's job lock, so it waits until the present job ends; one that is not active has none
    await orRefused(this.virsh.run(['domblkerror', sandboxId]));
    return this.listedFiles(sandboxId);
  }

  /** The same as it is written down now, without waiting for anything. */
  async listedFiles(sandboxId: string): Promise<string[] | null> {
    const listed = await orMissing(this.virsh.run(['domblklist', sandboxId, '--details']));
    return listed === null ? null : listedDisks(listed).map(({ source }) => source);
  }

  /** KiB of memory that the domain's QEMU holds; 0 when it does not run. */
  async residentKib(sandboxId: string): Promise<number> {
    const figures = (await orRefused(this.virsh.run(['dommemstat', sandboxId]))) ?? '';
    return Number(/^rss (\d+)$/m.exec(figures)?.[1] ?? '0');
  }

  /**
   * The same of every sandbox that runs, by one question. One that libvirt is at work on is left out: nobody waits for
   * that.
   */
  async residentKibOfAll(): Promise<Map<string, number>> {
    return residentSizes(await this.virsh.run(['domstats', '--balloon', '--list-active', '--nowait']));
  }

  /** Ends and forgets the domain. Never its storage: that is not libvirt's, and may be the source's. */
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
      if (/transient domain/i.test(error.stderr)) return; // ended, there is nothing left to undefine
      throw new MayflyError('cleanup_incomplete', error.message, { cause: error });
    }
  }

  async #stateOf(sandboxId: string): Promise<DomainState> {
    const state = this.virsh.run(['domstate', sandboxId]);
    return domainState(await orFail(state, 'boot_failed', `${sandboxId} is not there any more`));
  }
}
