import { EMULATOR_QUOTA_US } from '../../host/libvirt/domain-xml/clone-throttles.ts';
import { ExecError } from '../../host/os/exec.ts';
import { StateDir } from '../../host/state-dir.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Config } from '../config/config.ts';
import { runningLibvirt } from '../machine/hypervisor.ts';
import { type Check, NotApplicable, note, type Probe, passed } from './check.ts';
import { linesOf, type Run, run } from './libvirt.ts';

const NAME = 'CPU limits';
const REMEDY = 'Run the machines under the system’s libvirtd, on a machine with systemd and cgroup v2.';

/** Checks that cgroups limit QEMU's CPU use besides a guest's vCPUs. Disks and networks are always limited. */
export function throttlesProbe(config: Config): Probe {
  return {
    name: NAME,
    remedy: 'Run it as root, where the host worker runs.',
    look: async () => {
      const uri = await runningLibvirt(config, new StateDir(config.stateDir));
      if (uri === null) throw new NotApplicable('no libvirtd of our own runs');
      return judgeThrottles(run, uri);
    },
  };
}

/** Judges by libvirt's limits of one running sandbox; returns nothing when none runs. */
export async function judgeThrottles(tell: Run, uri: string): Promise<Check[]> {
  const [running] = linesOf(await tell('virsh', ['-c', uri, 'list', '--name'])).filter(isSandboxId);
  if (running === undefined) return [];
  try {
    const said = await tell('virsh', ['-c', uri, 'schedinfo', running]);
    const [, quota = ''] = /^emulator_quota *: (\d+)$/m.exec(said) ?? [];
    if (Number(quota) === EMULATOR_QUOTA_US) return [passed(NAME, `${running} has them`)];
    return [note(NAME, `${running} has none: it was made where there are none`, REMEDY)];
  } catch (error) {
    if (!(error instanceof ExecError) || !/cgroup/i.test(error.stderr)) throw error;
    const why = 'libvirt has no cgroup for CPUs here: what QEMU does beside a guest’s vCPUs is not bounded';
    return [note(NAME, why, REMEDY)];
  }
}
