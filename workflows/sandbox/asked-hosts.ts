import { condition } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import { askedHostsOf } from '../../model/sandbox/sandbox.ts';
import type { Life } from '../life/life.ts';
import { quietCleanupSteps } from '../life/steps.ts';

/** Marks lives in which an undo that was registered runs. Those of before withdrew it when a host had refused. */
export const UNDOS_STAY = 'undos-stay';

/** Says in the record that a host is asked, before it is: whatever ends the sandbox then looks there. */
export async function recordAsked(life: Life, host: HostRef): Promise<void> {
  const { hostId, installationId = null } = host;
  if (hostId === life.record.hostId) return;
  const others = askedHostsOf(life.record).filter((asked) => asked.hostId !== hostId);
  const askedHosts = [...others, { hostId, installationId }];
  await life.recordChange('sandbox.state', { hostId, installationId, askedHosts });
}

/** Which steps of a create a host may have done something in. */
type Begun = 'reserve' | 'cloneDisk';

/**
 * A host that is asked, and may refuse. When it does, the undos of what it may have done all the same run at once, beside
 * the create, which goes on at another host; the create's own undos, and with them the sandbox's end, wait for them.
 */
export class RefusedHost {
  #undone: Promise<unknown> | null = null;
  #isOver = false;
  #isWithdrawn = false;

  constructor(
    private readonly life: Life,
    private readonly host: HostRef,
  ) {}

  takeBack(begun: readonly Begun[]): void {
    const host = quietCleanupSteps(this.life, this.host);
    const undo = async () => {
      if (begun.includes('cloneDisk')) {
        await host.removeWorkspace();
        await host.removeCredentials();
      }
      await host.releaseReservation();
    };
    const left = () => undefined; // the end says that nobody has looked there
    this.#undone = this.life.forgotten.unlessForgotten(this.host.hostId, undo, left).then(() => {
      this.#isOver = true;
    });
  }

  /** In lives of before {@link UNDOS_STAY}: undone here and now, and never again. */
  async withdraw(undos: readonly (() => Promise<void>)[]): Promise<void> {
    for (const undo of undos) await undo();
    this.#isWithdrawn = true;
  }

  /** The undo of a step: waits for what {@link takeBack} began; where the host did not refuse, it is the given one. */
  async orElse(undo: () => Promise<void>): Promise<void> {
    if (this.#isWithdrawn || this.#isOver) return;
    if (this.#undone === null) return undo();
    const { life, host } = this;
    if (!(await condition(() => this.#isOver, life.timeouts.hostDownMs))) {
      const waitingFor = `host ${host.hostId}, which refused it, to take back what it may have done`;
      await life.recordChange('sandbox.cleanup', { waitingFor }, { what: waitingFor });
      await this.#undone;
      await life.recordChange('sandbox.cleanup', { waitingFor: null }, { what: waitingFor, held: true });
    }
  }
}
