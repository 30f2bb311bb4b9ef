import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentSession } from '../../../host/guest/agent-session.ts';
import type { VerifyRequest } from '../../../host/ssh/verify.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { InMemoryMachine } from './machine.ts';

const LOOK_MS = 20;

/** Guests of a machine in memory, as seen on their network: an sshd each, and an agent that accepts everything. */
export class InMemoryGuests {
  constructor(private readonly machine: InMemoryMachine) {}

  /** Resolves when the guest at that address runs with the host key. @throws host_key_mismatch; the signal's reason */
  async verify(_sandboxId: string, { endpoint, signal }: VerifyRequest): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const [holder] = [...this.machine.leases].find(([, { address }]) => address === endpoint.address) ?? [];
      if (holder !== undefined && this.machine.moves(holder)) {
        if (this.machine.workspaces.get(holder)?.clone?.hostKey === endpoint.hostKey) return;
        throw new MayflyError('host_key_mismatch', `${holder} has another host key.`);
      }
      await sleep(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  /** @throws MayflyError guest_unreachable */
  async greet(sandboxId: string): Promise<void> {
    if (!this.machine.moves(sandboxId)) throw new MayflyError('guest_unreachable', `${sandboxId} is silent.`);
  }

  /** @throws MayflyError guest_unreachable */
  async agent(sandboxId: string): Promise<Pick<AgentSession, 'request' | 'clockSkewMs'>> {
    return {
      clockSkewMs: 0,
      request: async ({ path }) => {
        if (!this.machine.moves(sandboxId)) throw new MayflyError('guest_unreachable', `${sandboxId} is silent.`);
        const status = path === '/v1/trust' || path === '/v1/sessions/end' ? 204 : 404;
        return { status, headers: {}, body: Readable.from([]) };
      },
    };
  }

  /** Does nothing: no connection is held. */
  close(): void {}
}
