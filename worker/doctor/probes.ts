import type { Config } from '../config/config.ts';
import { loadServerAddresses } from '../servers/remembered-servers.ts';
import { apiProbe } from './api.ts';
import { auditProbe } from './audit.ts';
import { goldenProbe, guestProgramsProbe } from './built.ts';
import { type Check, type Probe, runProbes } from './check.ts';
import { daemonsProbe, firewallProbe, networksProbe, versionsProbe } from './libvirt.ts';
import { localUsersProbe } from './local-users.ts';
import { lostRunsProbe } from './lost-runs.ts';
import { periodicTasksProbe } from './periodic-tasks.ts';
import { recordsProbe } from './records.ts';
import { runsProbe } from './runs.ts';
import { keysProbe, stateFolderProbe } from './secrets.ts';
import { hostsProbe, storeProbe, waitingProbe } from './store.ts';
import { ProbeContext } from './surroundings.ts';
import { temporalProbe } from './temporal.ts';
import { throttlesProbe } from './throttles.ts';

/** Checks the store before any connection that migrates it. */
export async function checkStore({ mongodbUri, stateDir }: Config): Promise<Check[]> {
  const uri = mongodbUri ?? (await loadServerAddresses(stateDir))?.storeUri;
  return runProbes([storeProbe(uri, mongodbUri !== undefined)]);
}

/**
 * Checks an installation's parts, besides the needs of its machine. All probes run concurrently; nothing is changed.
 */
export async function checkInstallationParts(config: Config): Promise<Check[]> {
  const surroundings = await ProbeContext.of(config);
  try {
    return await runProbes(probesOf(surroundings));
  } finally {
    await surroundings.close();
  }
}

function probesOf(surroundings: ProbeContext): Probe[] {
  const { config, isServed } = surroundings;
  return [
    stateFolderProbe(config.stateDir),
    localUsersProbe(surroundings),
    keysProbe(config),
    guestProgramsProbe(),
    ...(config.hostKind === 'libvirt'
      ? [
          versionsProbe(),
          daemonsProbe(config),
          networksProbe(config, isServed),
          firewallProbe(config),
          throttlesProbe(config),
          goldenProbe(config),
        ]
      : []),
    apiProbe(config, isServed),
    temporalProbe(surroundings),
    recordsProbe(surroundings),
    hostsProbe(surroundings),
    waitingProbe(surroundings),
    runsProbe(surroundings),
    lostRunsProbe(surroundings),
    periodicTasksProbe(surroundings),
    auditProbe(config),
  ];
}
