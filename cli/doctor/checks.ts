import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { kvmUsable } from '../../host/libvirt/client/accel.ts';
import type { Config } from '../../worker/config/config.ts';
import { findOldNode } from '../../worker/config/readiness.mjs';
import type { Check } from '../../worker/doctor/check.ts';

/** Programs that host/ and worker/ start, with their Debian packages. */
const PROGRAMS: Record<Config['hostKind'], Record<string, string>> = {
  libvirt: {
    ip: 'iproute2',
    'ssh-keygen': 'openssh-client',
    setpriv: 'util-linux',
    virsh: 'libvirt-clients',
    libvirtd: 'libvirt-daemon-system',
    'qemu-img': 'qemu-utils',
    'qemu-system-x86_64': 'qemu-system-x86',
    dnsmasq: 'dnsmasq-base',
    genisoimage: 'genisoimage',
    nft: 'nftables',
  },
  simulated: {
    ip: 'iproute2',
    'ssh-keygen': 'openssh-client',
    sshd: 'openssh-server',
    setpriv: 'util-linux',
    unshare: 'util-linux',
  },
};

/** Minimum for a demo with one small guest and its servers. */
const MIN_MEMORY_MIB = 1_024;
const MIN_DISK_GIB = 4;

/** Checks this machine. Changes nothing. */
export async function checkMachine(config: Config, env: NodeJS.ProcessEnv): Promise<Check[]> {
  return [
    node(),
    root(),
    ...(await Promise.all(
      Object.entries(PROGRAMS[config.hostKind]).map(([program, from]) =>
        programCheck(program, from, env['PATH'] ?? ''),
      ),
    )),
    ...(config.hostKind === 'libvirt' ? [await kvm()] : []),
    memory(),
    await disk(config.stateDir),
    guestNetwork(),
  ];
}

function check(name: string, ok: boolean, found: string, remedy: string, optional = false): Check {
  return { name, ok, optional, found, remedy: ok ? '' : remedy };
}

function node(): Check {
  const old = findOldNode();
  return check('node', old === null, process.versions.node, old ? `${old.why}. ${old.remedy}` : '');
}

function root(): Check {
  const uid = process.getuid?.() ?? -1;
  return check('root', uid === 0, `uid ${uid}`, 'Run the host worker, `mayfly up` and the demo as root (sudo).');
}

async function programCheck(program: string, from: string, path: string): Promise<Check> {
  // Debian keeps daemons in sbin, which is not on every user's PATH; host/ runs as root, whose PATH has it.
  for (const folder of [...path.split(delimiter), '/usr/sbin', '/sbin']) {
    const file = join(folder, program);
    const runs = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return check(program, true, file, '');
  }
  return check(program, false, 'not on PATH', `apt-get install ${from}`);
}

/** Explains the usual first failure in a guest: unresolved names and unreachable networks. */
function guestNetwork(): Check {
  const found =
    'none, unless a sandbox is created with `--egress internet`: apt, pip and git say that they cannot resolve a name, or that the network is unreachable';
  return check('network of guests', true, found, '');
}

/** Tests KVM by using it: the device node can exist without hardware, permission or module. */
async function kvm(): Promise<Check> {
  const usable = await kvmUsable();
  const remedy = 'Machines are emulated (TCG), many times slower. Switch virtualisation on in the firmware or the VM.';
  return check('/dev/kvm', usable, usable ? 'QEMU can use it' : 'QEMU cannot use it', remedy, true);
}

function memory(): Check {
  const mib = Math.floor(freemem() / 1_048_576);
  return check('memory', mib >= MIN_MEMORY_MIB, `${mib} MiB free`, `Have ${MIN_MEMORY_MIB} MiB free.`);
}

async function disk(stateDir: string): Promise<Check> {
  let folder = stateDir;
  for (;;) {
    try {
      const { bavail, bsize } = await statfs(folder);
      const gib = (bavail * bsize) / 1_073_741_824;
      const found = `${gib.toFixed(1)} GiB free for ${stateDir}`;
      return check('disk', gib >= MIN_DISK_GIB, found, `Have ${MIN_DISK_GIB} GiB free, or set MAYFLY_STATE_DIR.`);
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!missing || folder === dirname(folder)) throw error;
      folder = dirname(folder); // not created yet: check the file system that will hold it
    }
  }
}
