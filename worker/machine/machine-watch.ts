import type { Logger } from 'pino';
import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import { Bell } from '../../host/os/bell.ts';
import { MayflyError } from '../../model/errors.ts';
import { DEFAULT_INTERVALS } from '../../model/intervals.ts';
import { isMachineEnd, type MachineEndReport, type MachineState } from '../../model/sandbox/machine-end.ts';
import { isSuspended } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import type { HostBoot } from './host-boot.ts';

/** Backoff of reporting a lasting death again to its workflow, ms. */
const REPORT_BACKOFF = { first: 5_000, longest: 300_000 };

interface MachineWatchDeps {
  hostId: string;
  hypervisor: Pick<Hypervisor, 'machines' | 'watch'>;
  ledger: Pick<Ledger, 'sandboxIds'>;
  boot: HostBoot;
  /** Restarts a dead daemon of the hypervisor. */
  revive: () => Promise<void>;
  guests: Pick<GuestConnections, 'close'>;
  store: Store;
  /** Notifies the sandbox's workflow. */
  report: (sandboxId: string, report: MachineEndReport) => Promise<void>;
  logger: Logger;
  /** `@default` {@link DEFAULT_INTERVALS} */
  machinesMs?: number;
}

/**
 * Detects that the machine of a sandbox has died: on events of the hypervisor, by a poll every few seconds, and at its
 * start, for deaths without a worker. Each inspection reads the present state.
 */
export class MachineWatch {
  readonly #stopped = new AbortController();
  readonly #bell = new Bell();
  /** Sandboxes whose machine was observed alive. */
  readonly #seen = new Set<string>();
  /** Reported deaths, and when to report them again (performance.now). */
  readonly #told = new Map<string, { again: number; pauseMs: number }>();
  #isTimely = true;
  #timer: NodeJS.Timeout | undefined;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(private readonly deps: MachineWatchDeps) {}

  start(): void {
    const { machinesMs = DEFAULT_INTERVALS.machinesMs } = this.deps;
    this.#timer = setInterval(() => {
      this.#isTimely = true;
      this.#bell.ring();
    }, machinesMs);
    this.#bell.ring();
    this.#loops = Promise.all([this.#listen(), this.#pollOnNotify()]);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopped.abort();
    await this.#loops;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#stopped;
    try {
      for await (const _ of this.deps.hypervisor.watch(signal)) this.#bell.ring();
    } catch (error) {
      if (!signal.aborted)
        this.deps.logger.warn({ err: error }, 'no events of machines any more: dead ones are noticed later');
    }
  }

  async #pollOnNotify(): Promise<void> {
    for await (const _ of this.#bell.rings(this.#stopped.signal)) {
      const isTimely = this.#isTimely;
      this.#isTimely = false;
      try {
        await this.#look(isTimely);
      } catch (error) {
        this.deps.logger.warn({ err: error }, 'the machines of this host could not be looked at; it is tried again');
        await this.#revive();
      }
    }
  }

  async #revive(): Promise<void> {
    try {
      await this.deps.revive();
    } catch (error) {
      this.deps.logger.error(
        { err: error },
        'the libvirtd of this host is dead, and does not start; it is tried again',
      );
    }
  }

  /**
   * @param all includes machines never observed alive; one under construction may be missing, which costs a read of the
   * store
   */
  async #look(all: boolean): Promise<void> {
    const { hypervisor, ledger, boot } = this.deps;
    const ids = ledger.sandboxIds();
    const states = await hypervisor.machines(ids);
    const dead: [string, MachineEndReport['reason']][] = [];
    for (const [sandboxId, state] of states) {
      if (isMachineEnd(state)) {
        if (all || this.#seen.has(sandboxId)) dead.push([sandboxId, boot.isNew ? 'host-restarted' : state]);
      } else this.#alive(sandboxId);
    }
    this.#forgetAllBut(states);
    await Promise.all(dead.map(([sandboxId, reason]) => this.#reportDeath(sandboxId, reason)));
    if (all && boot.isNew) await boot.settle();
  }

  #alive(sandboxId: string): void {
    this.#seen.add(sandboxId);
    this.#told.delete(sandboxId);
  }

  #forgetAllBut(states: ReadonlyMap<string, MachineState>): void {
    for (const known of [this.#seen, this.#told]) {
      for (const sandboxId of known.keys()) if (!states.has(sandboxId)) known.delete(sandboxId);
    }
  }

  async #reportDeath(sandboxId: string, reason: MachineEndReport['reason']): Promise<void> {
    const { hostId, store, guests, report, logger } = this.deps;
    const told = this.#told.get(sandboxId);
    if (told && performance.now() < told.again) return;
    const record = await store.sandboxes.get(sandboxId);
    // During a create, restore or removal it may well be off; a death that lasts is detected afterwards.
    if (record?.hostId !== hostId) return;
    if (!(record.state === 'running' || record.state === 'warm' || isSuspended(record.state))) return;
    const seenAt = new Date().toISOString();
    logger.warn({ sandboxId, reason }, 'the machine of a sandbox is off or dead');
    guests.close(sandboxId, new MayflyError('guest_unreachable', `The machine of ${sandboxId} is dead: ${reason}.`));
    await report(sandboxId, { hostId, reason, seenAt });
    const pauseMs = told ? Math.min(told.pauseMs * 2, REPORT_BACKOFF.longest) : REPORT_BACKOFF.first;
    this.#told.set(sandboxId, { again: performance.now() + pauseMs, pauseMs });
  }
}
