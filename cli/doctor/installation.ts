import { isLive } from '../../model/host.ts';
import type { Config } from '../../worker/config/config.ts';
import type { Check } from '../../worker/doctor/check.ts';
import { withPresentStore } from '../../worker/servers/local-store.ts';
import { orWhyNot } from './or-why-not.ts';

/**
 * What this machine's worker has said to be. A machine of another kind is the wrong place to look: nothing of the
 * installation is found there, whatever is left of it.
 */
export async function checkInstallation(config: Config): Promise<Check> {
  const { hostId, hostKind, stateDir } = config;
  const said = await orWhyNot(withPresentStore(config, (store) => store.hosts.get(hostId)));
  if ('why' in said) return installation(true, `not known: ${said.why}`);
  const host = said.result;
  if (!host) return installation(true, `no worker has served ${stateDir} as ${hostId} yet`);
  const worker = isLive(host) ? 'its worker runs' : `its worker was last heard of at ${host.lastSeenAt}`;
  const found = `${host.kind} host ${hostId} in ${stateDir}; ${worker}; sandboxes on it: ${host.promised.sandboxes}`;
  if (host.kind === hostKind) return installation(true, found);
  return installation(false, `${found}, but MAYFLY_HOST is ${hostKind}`, `MAYFLY_HOST=${host.kind} mayfly doctor`);
}

function installation(ok: boolean, found: string, remedy = ''): Check {
  return { name: 'installation', ok, optional: false, found, remedy };
}
