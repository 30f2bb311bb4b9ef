import { MayflyError } from '../../../model/errors.ts';
import type { Domains } from '../client/domains.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import { AgentConsole } from './agent-console.ts';

/** A guest that does not answer a ping in this time is saved without its help. Seconds. */
const PING_SECONDS = 5;
/** Freezing writes all that the guest has in memory to its disk first. Seconds. */
const FREEZE_SECONDS = 30;

/** The QEMU guest agent of a sandbox, for what a snapshot needs of it. What it says is the guest's word. */
export class GuestAgent {
  constructor(
    private readonly virsh: Virsh,
    private readonly domains: Domains,
  ) {}

  /** Whether it answers now; from then on libvirt waits no longer than {@link FREEZE_SECONDS} for it. */
  async answers(sandboxId: string): Promise<boolean> {
    try {
      const timeout = `guest-agent-timeout ${sandboxId} --timeout=${FREEZE_SECONDS}`;
      const ping = `qemu-agent-command ${sandboxId} --timeout=${PING_SECONDS} '{"execute":"guest-ping"}'`;
      await this.virsh.run([`${timeout}; ${ping}`]);
      return true;
    } catch (error) {
      if (error instanceof VirshError || isAgentSilent(error)) return false;
      throw error;
    }
  }

  /**
   * Freezes its file systems: what was written to them is on its disks, and nothing more is written.
   * @returns false when it can't, and never will
   * @throws VirshError when it failed
   */
  async freeze(domain: string): Promise<boolean> {
    try {
      await this.virsh.run(['domfsfreeze', domain]);
      return true;
    } catch (error) {
      if (isQuiesceRefused(error)) return false;
      throw error;
    }
  }

  /**
   * Ends a freeze of its file systems, also when there is none. A domain without a running QEMU has nothing frozen.
   * @throws MayflyError guest_unreachable when it can't be known
   */
  async thaw(sandboxId: string): Promise<void> {
    try {
      await this.virsh.run(['domfsthaw', sandboxId]);
    } catch (error) {
      if (!(error instanceof VirshError) && !isAgentSilent(error)) throw error;
      const state = (await this.domains.describe(sandboxId))?.state;
      if (state !== 'running' && state !== 'paused') return;
      const why = error instanceof Error ? error.message : String(error);
      throw new MayflyError(
        'guest_unreachable',
        `It is not known whether the file systems of ${sandboxId} are still frozen: its guest agent does not thaw them (${why}).`,
        { cause: error },
      );
    }
  }

  /**
   * Steps its clock, which stood still as long as its CPUs did: a certificate made now would else be of the future to it.
   * A guest without an agent, or whose agent may not, keeps its clock.
   */
  async setClock(sandboxId: string): Promise<void> {
    if (!(await this.answers(sandboxId))) return;
    try {
      // not guest-set-time: it needs hwclock, which Debian has in a package of its own
      const seconds = (Date.now() / 1000).toFixed(3);
      await new AgentConsole(this.virsh, sandboxId).run(['/bin/date', '--set', `@${seconds}`]);
    } catch (error) {
      if (!(error instanceof MayflyError && error.code === 'prepare_failed')) throw error;
    }
  }
}

/** libvirt says "Guest agent is not responding" in words that may mean that libvirtd itself does not answer. */
export function isAgentSilent(error: unknown): boolean {
  return (error instanceof MayflyError || error instanceof VirshError) && /guest agent .*respond/i.test(error.message);
}

/** Whether libvirt took no snapshot because the guest can't freeze its file systems, and never will. */
export function isQuiesceRefused(error: unknown): boolean {
  return error instanceof VirshError && /agent|freeze/i.test(error.stderr) && !isAgentSilent(error);
}
