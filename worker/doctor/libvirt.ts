import { allRules } from '../../host/libvirt/network/firewall.ts';
import { ExecError, exec } from '../../host/os/exec.ts';
import { changedTables, listRules } from '../../host/os/nft.ts';
import { StateDir } from '../../host/state-dir.ts';
import type { Config } from '../config/config.ts';
import { networkPlans, ownLibvirt, runningLibvirt } from '../machine/hypervisor.ts';
import { type Check, fault, NotApplicable, note, type Probe, passed } from './check.ts';

/** Returns a program's standard output. @throws ExecError */
export type Run = (program: string, args: readonly string[]) => Promise<string>;

export const run: Run = async (program, args) => (await exec(program, args, { timeoutMs: 7_000 })).stdout;

/** Versions of Debian 12, and those tested here: incremental backups of disks, and `virsh --domain=` throughout. */
const OLDEST: Readonly<Record<string, readonly [number, number]>> = { virsh: [9, 0], 'qemu-img': [7, 2] };
const RESTART = 'systemctl restart mayfly-host (or `mayfly up`), which makes both networks and their rules.';

/** Detects two daemons, each with sandboxes: a step that uses the wrong one finds nothing. */
export function daemonsProbe(config: Config): Probe {
  return {
    name: 'libvirtd',
    remedy: 'systemctl start libvirtd, or set MAYFLY_LIBVIRT_URI.',
    look: async () => {
      const own = await ownLibvirt(new StateDir(config.stateDir));
      const system = await isReachable(run, 'qemu:///system');
      return judgeDaemons({ own, system, chosen: config.libvirtUri });
    },
  };
}

/** @param at `own`: URI of the private daemon, null when none runs; `system`: true when the machine's own answers */
export function judgeDaemons(at: { own: string | null; system: boolean; chosen: string | undefined }): Check[] {
  if (at.own === null || !at.system || at.chosen !== undefined) return [];
  const remedy =
    "Say which: MAYFLY_LIBVIRT_URI=private, or qemu:///system, in /etc/mayfly/host.env or the worker's environment.";
  return [
    fault('libvirtd', `a private one runs (${at.own}), and the machine's own too: which is meant is not said`, remedy),
  ];
}

/** Checks Mayfly's two networks and their firewall, once a worker has created them. */
export function networksProbe(config: Config, isServed: boolean): Probe {
  return {
    name: 'networks',
    remedy: RESTART,
    look: async () => {
      const state = new StateDir(config.stateDir);
      const uri = await runningLibvirt(config, state);
      if (uri === null) throw new NotApplicable('no libvirtd of our own runs');
      const { isolated, internet } = networkPlans(config);
      return (
        await Promise.all(
          [isolated, internet].map(({ name, bridge }) => judgeNetwork(run, uri, { name, bridge, isServed })),
        )
      ).flat();
    },
  };
}

export async function judgeNetwork(
  tell: Run,
  uri: string,
  { name, bridge, isServed }: { name: string; bridge: string; isServed: boolean },
): Promise<Check[]> {
  const all = linesOf(await tell('virsh', ['-c', uri, 'net-list', '--all', '--name']));
  // Without a worker, no network exists yet.
  if (!all.includes(name))
    return [(isServed ? fault : note)(`network ${name}`, 'libvirt has no network of that name', RESTART)];
  if (!linesOf(await tell('virsh', ['-c', uri, 'net-list', '--name'])).includes(name)) {
    return [
      fault(`network ${name}`, 'it is not active: no sandbox gets an address', `virsh -c '${uri}' net-start ${name}`),
    ];
  }
  const address = await tell('ip', ['-4', '-o', 'address', 'show', 'dev', bridge]).catch(errorText);
  if (!/ inet /.test(address)) {
    const remedy = `virsh -c '${uri}' net-destroy ${name} && virsh -c '${uri}' net-start ${name}`;
    return [
      fault(
        `network ${name}`,
        `its bridge ${bridge} has no IPv4 address: ${address.trim() || 'none is shown'}`,
        remedy,
      ),
    ];
  }
  return [passed(`network ${name}`, `active, on ${bridge}`)];
}

/** Checks the rules that isolate guests from the host and from each other. @param changed tables that differ */
export function judgeFirewall(changed: readonly string[]): Check[] {
  if (changed.length === 0) return [passed('firewall', 'its rules are as they were loaded')];
  const found = `not as Mayfly loads it: nft table ${changed.join(', ')}; guests may reach each other and services of this host`;
  return [fault('firewall', found, `A host worker that runs loads it again within a minute; else ${RESTART}`)];
}

export function firewallProbe(config: Config): Probe {
  return {
    name: 'firewall',
    remedy: 'Run it as root, where the host worker runs.',
    look: async () => {
      const plans = networkPlans(config);
      const { bridge } = plans.isolated;
      const link = await run('ip', ['-o', 'link', 'show', 'dev', bridge]).catch(errorText);
      if (!link.includes(bridge) || /does not exist/.test(link)) return [];
      return judgeFirewall(await changedTables(await listRules(allRules(plans))));
    },
  };
}

/** Finds installed programs that are too old. */
export function versionsProbe(): Probe {
  return { name: 'versions', remedy: 'apt-get install libvirt-clients qemu-utils', look: () => judgeVersions(run) };
}

export async function judgeVersions(tell: Run): Promise<Check[]> {
  const checks = await Promise.all(
    Object.entries(OLDEST).map(async ([program, oldest]): Promise<Check[]> => {
      const said = await tell(program, ['--version']).catch((error: unknown) => {
        if (error instanceof ExecError) return null; // not installed: another check reports it
        throw error;
      });
      const [version, major, minor] = /(\d+)\.(\d+)(?:\.\d+)?/.exec(said ?? '') ?? [];
      if (version === undefined) return [];
      const isOld = Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
      if (!isOld) return [passed(`${program} version`, version)];
      const remedy =
        'Upgrade to Debian 12 or later, or `apt-get install -t bookworm-backports libvirt-clients qemu-utils`.';
      return [fault(`${program} version`, `${version} is older than ${oldest.join('.')}`, remedy)];
    }),
  );
  return checks.flat();
}

async function isReachable(tell: Run, uri: string): Promise<boolean> {
  return tell('virsh', ['-c', uri, 'uri']).then(
    () => true,
    () => false,
  );
}

export function linesOf(text: string): string[] {
  return text.split('\n').map((line) => line.trim());
}

function errorText(error: unknown): string {
  return error instanceof ExecError ? error.stderr : String(error);
}
