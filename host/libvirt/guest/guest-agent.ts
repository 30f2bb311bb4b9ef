import { z } from 'zod';
import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import { poll } from '../../os/poll.ts';
import type { Domains } from '../client/domains.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import { AgentConsole } from './agent-console.ts';
import { STEP_CLOCK } from './step-clock.ts';

/** Ping timeout; a silent guest is saved without its help. Seconds. */
const PING_SECONDS = 5;
const LOOK_EVERY_MS = 200;
/** Round trip above which a clock is read again: its error is half the round trip. Milliseconds. */
const QUICK_MS = 150;
const CLOCK_TRIES = 3;
/** Timeout of a freeze, which first writes the guest's dirty pages to disk. Seconds. */
const FREEZE_SECONDS = 30;

/** Nanoseconds since 1970. */
const GuestTime = z.object({ return: z.number() });

/** QEMU guest agent of a sandbox, for snapshots. Its answers are untrusted. */
export class GuestAgent {
  constructor(
    private readonly virsh: Virsh,
    private readonly domains: Domains,
  ) {}

  /** Reports whether the agent answers now; also limits libvirt's later waits for it to {@link FREEZE_SECONDS}. */
  async answers(sandboxId: string): Promise<boolean> {
    return (await this.#ask(sandboxId, 'guest-ping')) !== null;
  }

  /** Waits until the agent answers or the timeout passes; the next call then reports its silence. */
  async wait(sandboxId: string, withinMs: number, signal: AbortSignal): Promise<void> {
    const look = async () => (await this.answers(sandboxId)) || null;
    await poll(look, { everyMs: LOOK_EVERY_MS, withinMs, signal });
  }

  /** Returns the lead of the guest's clock over ours, ms, by the fastest of some answers; null without an answer. */
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

  /** Returns the answer, or null. */
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
   * Freezes its file systems: nothing more is written. @returns false when the guest never can @throws VirshError when
   * it failed
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
   * Thaws its file systems; no-op when they are not frozen. A domain without a running QEMU has nothing frozen.
   * @throws MayflyError guest_unreachable when the state is unknown
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
   * Steps its clock, which stopped with its CPUs: a certificate issued now would lie in its future. A guest without an
   * agent, or whose agent may not, keeps its clock.
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
      // without perl the clock is late by the program's start time
      await guest.run(['/bin/date', '--set', `@${(Date.now() / 1000).toFixed(3)}`]);
    } catch (error) {
      if (!isMayflyError(error, 'prepare_failed')) throw error;
    }
  }
}

/** Detects libvirt's "Guest agent is not responding", which may be reported as an unresponsive libvirtd. */
export function isAgentSilent(error: unknown): boolean {
  return (error instanceof MayflyError || error instanceof VirshError) && /guest agent .*respond/i.test(error.message);
}

/** True when libvirt took no snapshot because the guest cannot freeze its file systems. */
export function isQuiesceRefused(error: unknown): boolean {
  return error instanceof VirshError && /agent|freeze/i.test(error.stderr) && !isAgentSilent(error);
}
