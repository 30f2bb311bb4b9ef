import type { Clone, Hypervisor } from '../../host/hypervisor.ts';
import type { Boot, SshEndpoint, StepTiming } from '../../model/sandbox/sandbox.ts';
import { currentStepRunner } from '../step/step-runner.ts';
import type { CloneDiskInput, StepTarget } from '../step/steps.ts';
import type { MachineActivities, PreparedClone } from './machine.ts';
import type { ReservationActivities } from './reservation.ts';
import type { SshActivities } from './ssh.ts';

/** See {@link RunnerStep}. Milliseconds. */
interface Times<Step extends string> {
  withinMs: Record<Step, number>;
  shownAfterMs: number;
}

interface PrepareInput extends CloneDiskInput, Times<'reserve' | 'cloneDisk'> {}

export interface Prepared {
  clone: PreparedClone;
  steps: StepTiming[];
}

interface StartInput
  extends StepTarget,
    Pick<Clone, 'user' | 'hostKey'>,
    Times<'bootDomain' | 'awaitIp' | 'verifySsh'> {
  /** OpenSSH certificate line; public. */
  certificate: string;
}

interface Started {
  ssh: SshEndpoint;
  boot: Boot | null;
  steps: StepTiming[];
}

type Steps = Pick<ReservationActivities, 'reserve'> &
  Pick<MachineActivities, 'cloneDisk' | 'bootDomain' | 'awaitIp'> &
  Pick<SshActivities, 'verifySsh'>;

/**
 * Activities that create a sandbox on its host: two, of several steps each. A step within an activity adds no overhead;
 * an activity of its own costs 13 to 34 ms.
 */
export function createCreateActivities(host: Steps, { hypervisor }: { hypervisor: Pick<Hypervisor, 'bootOf'> }) {
  return {
    /** Prepares a sandbox's parts. @throws as `reserve` and `cloneDisk`; MayflyError step_timeout */
    async prepare({ withinMs, shownAfterMs, ...input }: PrepareInput): Promise<Prepared> {
      const runner = currentStepRunner();
      const reserve = { name: 'reserve', phase: 'placing', withinMs: withinMs.reserve, shownAfterMs } as const;
      await runner.step(reserve, () => host.reserve(input));
      const cloneDisk = { name: 'cloneDisk', phase: 'cloning', withinMs: withinMs.cloneDisk, shownAfterMs } as const;
      const clone = await runner.step(cloneDisk, () => host.cloneDisk(input));
      return { clone, steps: runner.steps };
    },

    /**
     * Starts a prepared sandbox up to a login.
     * @throws as its steps; MayflyError step_timeout, ip_timeout, ssh_timeout
     */
    async start({ withinMs, shownAfterMs, user, hostKey, certificate, ...target }: StartInput): Promise<Started> {
      const runner = currentStepRunner();
      const bootDomain = { name: 'bootDomain', phase: 'booting', withinMs: withinMs.bootDomain, shownAfterMs } as const;
      await runner.step(bootDomain, () => host.bootDomain(target));
      const awaitIp = { name: 'awaitIp', phase: 'awaiting-ip', withinMs: withinMs.awaitIp, shownAfterMs } as const;
      const { address, port } = await runner.step(awaitIp, () => host.awaitIp(target));
      const ssh = { address, port, user, hostKey };
      const verifySsh = {
        name: 'verifySsh',
        phase: 'verifying-ssh',
        withinMs: withinMs.verifySsh,
        shownAfterMs,
        ssh,
      } as const;
      await runner.step(verifySsh, () => host.verifySsh({ ...target, endpoint: ssh, certificate }));
      return { ssh, boot: await hypervisor.bootOf(target.sandboxId), steps: runner.steps };
    },
  };
}

export type CreateActivities = ReturnType<typeof createCreateActivities>;
