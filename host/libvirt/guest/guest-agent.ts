import { z } from 'zod';
import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import { poll } from '../../os/poll.ts';
import type { Domains } from '../client/domains.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import { AgentConsole } from './agent-console.ts';
import { STEP_CLOCK } from './step-clock.ts';

/** A guest that does not answer a ping in this time is saved without its help. Seconds. */
const PING_SECONDS = 5;
const LOOK_EVERY_MS = 200;
/** What a clock says is known to half of what its answer takes: after a slow one it is asked again. Milliseconds. */
const QUICK_MS = 150;
const CLOCK_TRIES = 3;
/** Freezing writes all that the guest has in memory to its disk first. Seconds. */
const FREEZE_SECONDS = 30;

/** Nanoseconds since 1970. */
const GuestTime = z.object({ return: z.number() });

/** The QEMU guest agent of a sandbox, for what a snapshot needs of it. What it says is the guest's word. */
export class GuestAgent {
  constructor(
    private readonly virsh: Virsh,
    private readonly domains: Domains,
  ) {}

  /** Whether it answers now; from then on libvirt waits no longer than {@link FREEZE_SECONDS} for it. */
  async answers(sandboxId: string): Promise<boolean> {
    return (await this.#ask(sandboxId, 'guest-ping')) !== null;
  }

  /** Waits until it answers, or the time is over: whoever needs it is told then. */
  async wait(sandboxId: string, withinMs: number, signal: AbortSignal): Promise<void> {
    const look = async () => (await this.answers(sandboxId)) || null;
    await poll(look, { everyMs: LOOK_EVERY_MS, withinMs, signal });
  }

  /** How far its clock is ahead of ours, milliseconds, as the middle of its quickest answer has it; null: it does not answer. */
  async clockAheadMs(sandboxId: string): Promise<number | null> {
    let best = { ahead: 0, tookMs: Number.POSITIVE_INFINITY };
    for (let tries = 0; tries < CLOCK_TRIES && best.tookMs > QUICK_MS; tries++) {
      const asked = Date.now();
      const said = await this.#ask(sandboxId, 'guest-get-time');
      if (said === null) return null;
      const tookMs = Date.now() - asked;
      const { return: nanoseconds } = GuestTime.parse(JSON.parse(said));
      if (tookMs < best.tookMs) best = { ahead: nanoseconds / 1e6 - asked - tookMs / 2, tookMs };
    }
    return Math.round(best.ahead);
  }

  /** What it answers; null: nothing. */
  async #ask(sandboxId: string, command: string): Promise<string | null> {
    try {
      const timeout = `guest-agent-timeout ${sandboxId} --timeout=${FREEZE_SECONDS}`;
      const ask = `qemu-agent-command ${sandboxId} --timeout=${PING_SECONDS} '{"execute":"${command}"}'`;
      return await this.virsh.run([`${timeout}; ${ask}`]);
    } catch (error) {
      if (error instanceof VirshError || isAgentSilent(error)) return null;
      throw error;
    }
  }

  /**
   * Freezes its file systems: nothing more is written. @returns false when it can't, and never will @throws VirshError
   * when it failed
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
    const aheadMs = await this.clockAheadMs(sandboxId);
    if (aheadMs === null) return;
    const guest = new AgentConsole(this.virsh, sandboxId);
    try {
      // not guest-set-time: it needs hwclock, which Debian has in a package of its own
      const { exitCode } = await guest.run(['/usr/bin/perl', '-e', `${STEP_CLOCK} step_clock(${-aheadMs});`]);
      if (exitCode === 0) return;
    } catch (error) {
      if (!isMayflyError(error, 'prepare_failed')) throw error;
    }
    try {
      // without perl it is late by what the program takes to begin
      await guest.run(['/bin/date', '--set', `@${(Date.now() / 1000).toFixed(3)}`]);
    } catch (error) {
      if (!isMayflyError(error, 'prepare_failed')) throw error;
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
