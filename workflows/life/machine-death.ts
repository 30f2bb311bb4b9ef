import { condition, setHandler } from '@temporalio/workflow';
import {
  describeMachineEnd,
  isMachineEnd,
  type MachineEndReason,
  type MachineEndReport,
  type MachineState,
} from '../../model/sandbox/machine-end.ts';
import type { SandboxFailure, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { hostOf, isAsleep } from '../../model/sandbox/sandbox-state.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import { onHost } from '../saga/host-activities.ts';
import { machineEnded } from '../saga/messages.ts';
import { PROFILE } from '../saga/profiles.ts';

interface Living {
  readonly id: string;
  readonly record: SandboxRecord;
  readonly timeouts: Timeouts;
  /** Its end has come, whatever for. */
  readonly isEnding: boolean;
  /** Its run continues as new: the host tells the next one. */
  readonly isClosing: boolean;
  /** Its machine is another's to shut down, whose own steps tell when it has died. */
  readonly mayBeOff: boolean;
}

/** The activity that steps of other names ask: how the machine is. */
const LOOK = 'lookAtMachine';
/** One question to libvirt, and room for a busy machine. Its host reports again while it stays dead. Milliseconds. */
const LOOK_MS = 20_000;

/**
 * Whether the machine of a sandbox has died. What the host reports is only a reason to have it look again: a report may
 * be late, about the machine before a restore, or about one that an operation of ours has off for a while.
 */
export class MachineDeath {
  /** How it died; null: it lives, as far as is known. */
  failure: SandboxFailure | null = null;
  #isLooking = false;
  /** Counts up when an operation that takes the machine off begins, and when it is over: odd while it is under way. */
  #turn = 0;

  constructor(private readonly life: Living) {
    setHandler(machineEnded, (report) => this.#reported(report));
  }

  /** Runs an operation during which the machine may be off because it is to be. */
  async whileOff<T>(run: () => Promise<T>): Promise<T> {
    this.#turn++;
    try {
      return await run();
    } finally {
      this.#turn++;
    }
  }

  async #reported(report: MachineEndReport): Promise<void> {
    if (this.#isLooking || this.#isOver || report.hostId !== this.life.record.hostId) return;
    this.#isLooking = true;
    try {
      const reason = await this.#seen(report);
      if (reason === null || this.#isOver) return;
      this.failure = { ...describeMachineEnd(this.life.id, { ...report, reason }), step: LOOK };
    } finally {
      this.#isLooking = false;
    }
  }

  get #isOver(): boolean {
    const { mayBeOff, isClosing, isEnding } = this.life;
    return mayBeOff || isClosing || isEnding;
  }

  /** Why the machine is dead, as its host sees it now; null when it is not, or when nobody can tell. */
  async #seen({ reason }: MachineEndReport): Promise<MachineEndReason | null> {
    for (;;) {
      await condition(() => this.#isOver || this.#isToBeThere);
      if (this.#isOver) return null;
      const turn = this.#turn;
      const state = await this.#look();
      if (state === null || !isMachineEnd(state)) return null;
      if (turn !== this.#turn) continue;
      if (reason === 'host-restarted') return reason;
      return this.life.record.state === 'hibernated' ? 'lost' : state;
    }
  }

  /** It has been created, and nothing of ours has its machine off. */
  get #isToBeThere(): boolean {
    const { state } = this.life.record;
    return (state === 'running' || state === 'warm' || isAsleep(state)) && this.#turn % 2 === 0;
  }

  async #look(): Promise<MachineState | null> {
    const { id: sandboxId, record, timeouts } = this.life;
    const host = hostOf(record);
    if (host === null) return null;
    const probe = { ...PROFILE.probe(LOOK_MS, timeouts.hostDownMs), summary: `${sandboxId}: is its machine dead?` };
    try {
      return (await onHost(host, probe).lookAtMachine({ sandboxId })).state;
    } catch {
      return null; // its host does not answer: it reports again when it is back
    }
  }
}
