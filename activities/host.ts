import type { CommandRuns } from '../host/exec/command-runs.ts';
import type { GuestConnections } from '../host/guest/connections.ts';
import type { Hypervisor } from '../host/hypervisor.ts';
import type { Credentials } from '../host/ssh/credentials.ts';
import { createTrustActivities, type TrustDeps } from './access/trust.ts';
import { createRunHostActivities, type RunHostDeps } from './function/on-host.ts';
import { type CarryDeps, createCarryActivities } from './image/carry.ts';
import { createPlaybookHostActivities, type PlaybookDeps } from './playbook/on-host.ts';
import { createProbeActivities } from './pool/greeting.ts';
import { createCommandActivities } from './sandbox/command.ts';
import { createCreateActivities } from './sandbox/create.ts';
import { createMachineActivities, type MachineDeps } from './sandbox/machine.ts';
import { createReservationActivities } from './sandbox/reservation.ts';
import { createSshActivities, type SshDeps } from './sandbox/ssh.ts';
import { createSetupHostActivities, type SetupHostDeps } from './setup/setup-on-host.ts';
import { createSnapshotActivities } from './snapshot/snapshot.ts';
import type { StorageRoom } from './snapshot/storage-room.ts';
import { createBakingActivities } from './source/baking.ts';
import { createCaptureActivities } from './source/capture.ts';
import { createSourcePowerActivities } from './source/power.ts';
import { createSourceActivities, type SourceDeps } from './source/source.ts';
import { createTemplateActivities } from './template/template.ts';
import { createWaitpointHostActivities, type WaitpointHostDeps } from './waitpoint/on-host.ts';

export interface HostDeps extends SourceDeps, TrustDeps, SshDeps, MachineDeps {
  hypervisor: Hypervisor;
  credentials: Credentials;
  room: StorageRoom;
  guests: Pick<GuestConnections, 'close' | 'verify' | 'greet'> & TrustDeps['guests'] & PlaybookDeps['guests'];
  commandRuns: CommandRuns;
  playbooks: PlaybookDeps['playbooks'];
  images: CarryDeps['images'];
  functions: (RunHostDeps & WaitpointHostDeps & SetupHostDeps)['functions'];
}

export function createHostActivities(deps: HostDeps) {
  const steps = {
    ...createReservationActivities(deps),
    ...createMachineActivities(deps),
    ...createSshActivities(deps),
  };
  return {
    ...steps,
    ...createCreateActivities(steps, deps),
    ...createSnapshotActivities(deps),
    ...createSourceActivities(deps),
    ...createSourcePowerActivities(deps),
    ...createBakingActivities(deps),
    ...createCaptureActivities(deps),
    ...createTemplateActivities(deps),
    ...createCommandActivities(deps),
    ...createTrustActivities(deps),
    ...createCarryActivities(deps),
    ...createProbeActivities(deps),
    ...createPlaybookHostActivities(deps),
    ...createRunHostActivities(deps),
    ...createWaitpointHostActivities(deps),
    ...createSetupHostActivities(deps),
  };
}

export type HostActivities = ReturnType<typeof createHostActivities>;
