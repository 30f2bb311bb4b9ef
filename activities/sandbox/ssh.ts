import { setTimeout as sleep } from 'node:timers/promises';
import type { GuestConnections } from '../../host/guest/connections.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { allSettledOrThrow } from '../../host/os/abort.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { MayflyError } from '../../model/errors.ts';
import { describeMachineEnd, isMachineEnd } from '../../model/sandbox/machine-end.ts';
import { stepContext } from '../step/step-context.ts';
import type { VerifySshInput } from '../step/steps.ts';

/** Poll interval for a machine that refuses logins. Milliseconds. */
const POLL_MS = 1_000;

export interface SshDeps {
  hypervisor: Pick<Hypervisor, 'machines'>;
  credentials: Credentials;
  guests: Pick<GuestConnections, 'verify'>;
}

/** Activity that verifies a sandbox: its pinned host key answers, and accepts its certificate. */
export function createSshActivities({ hypervisor, credentials, guests }: SshDeps) {
  return {
    /**
     * Verifies a login. Keeps the connection for the first request; removal of the credentials closes it.
     * @throws MayflyError ssh_timeout, host_key_mismatch; machine_stopped and the like when the machine dies first
     */
    async verifySsh({ sandboxId, endpoint, certificate }: VerifySshInput): Promise<void> {
      await allSettledOrThrow(
        credentials.storeCertificate(sandboxId, certificate),
        credentials.storeKnownHost(sandboxId, endpoint),
      );
      const credentialsDir = credentials.directory(sandboxId);
      const context = stepContext();
      const over = new AbortController();
      const died = new AbortController();
      const watching = awaitMachineDeath(hypervisor, sandboxId, over.signal).then((end) => end && died.abort(end));
      try {
        const signal = AbortSignal.any([context.signal, died.signal]);
        await guests.verify(sandboxId, { endpoint, credentialsDir, ...context, signal });
      } finally {
        over.abort();
        await watching;
      }
    },
  };
}

/** Returns the failure of a dead machine; null when the signal is aborted first. */
async function awaitMachineDeath(
  hypervisor: Pick<Hypervisor, 'machines'>,
  sandboxId: string,
  signal: AbortSignal,
): Promise<MayflyError | null> {
  for (;;) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined); // the abort is checked next
    if (signal.aborted) return null;
    const states = await hypervisor.machines([sandboxId]).catch(() => null); // a failed query is retried
    const state = states?.get(sandboxId);
    if (!state || !isMachineEnd(state)) continue;
    const { code, message } = describeMachineEnd(sandboxId, { reason: state, seenAt: new Date().toISOString() });
    return new MayflyError(code, message);
  }
}

export type SshActivities = ReturnType<typeof createSshActivities>;
