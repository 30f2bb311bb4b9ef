// @ts-check
/** @module Debian packages that the host needs. */
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { onPath } from '../../worker/config/artifacts.mjs';
import { aptRemedy, rootBlocker } from './part.mjs';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

/** For both kinds of host: real sshd and clients, namespaces, processes. */
const always = ['openssh-server', 'openssh-client', 'util-linux', 'iproute2', 'procps'];

/** For virtual machines, their network, and the image they are cloned from. */
const machines = [
  'qemu-system-x86',
  'qemu-utils',
  'libvirt-daemon',
  'libvirt-daemon-driver-qemu',
  'libvirt-daemon-system',
  'libvirt-clients',
  'dnsmasq-base',
  'dnsmasq-utils',
  'mmdebstrap',
  'genisoimage',
  'iptables',
  'nftables',
  'cpio',
  'xz-utils',
  'e2fsprogs',
  'busybox-static',
  'kmod',
];

const wanted = () => (process.env['MAYFLY_HOST'] === 'simulated' ? always : [...always, ...machines]);

/** Time to wait for another apt. */
const lockSeconds = 600;

/** @returns {string[]} */
function missing() {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are dpkg's own
  const format = '${Package} ${db:Status-Status}\n';
  const query = spawnSync('dpkg-query', ['-W', '-f', format, ...wanted()], {
    encoding: 'utf8',
  });
  const installed = new Set(
    (query.stdout ?? '')
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ')[0]),
  );
  return wanted().filter((name) => !installed.has(name));
}

/** @returns {string[]} */
function blockers() {
  const list = missing().join(' ');
  if (onPath('apt-get') === null)
    return [
      `apt-get is missing, so this is no Debian: install what these packages hold by your system's own means: ${list}.`,
    ];
  return rootBlocker(`The Debian packages ${list}`, 'installed');
}

/**
 * @param {readonly string[]} args
 * @param {import('./part.mjs').Job} job
 */
async function aptGet(args, { signal, note }) {
  const env = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
  const deadline = Date.now() + lockSeconds * 1_000;
  for (;;) {
    try {
      await run(['apt-get', '-q', '-o', `DPkg::Lock::Timeout=${lockSeconds}`, ...args], {
        signal,
        env,
        gentle: true,
      });
      return;
    } catch (error) {
      const words = error instanceof SetupProblem ? error.message : '';
      if (words.includes('dpkg was interrupted')) {
        note('finishing an installation that was interrupted');
        await run(['dpkg', '--configure', '-a'], { signal, env, gentle: true });
        continue;
      }
      // apt waits for dpkg's lock, but not for the one on its lists.
      if (!words.includes('Could not get lock') || Date.now() > deadline) throw error;
      note('waiting for another apt');
      await sleep(3_000, undefined, { signal });
    }
  }
}

/**
 * @param {readonly string[]} names
 * @param {import('./part.mjs').Job} job
 * @throws {SetupProblem}
 */
export async function installPackages(names, job) {
  job.note('apt-get update');
  await aptGet(['update'], job);
  job.note(`apt-get install ${names.join(' ')}`);
  await aptGet(['install', '--yes', '--no-install-recommends', ...names], job);
}

/** @type {import('./part.mjs').Part} */
export const debianPackages = {
  name: 'debian',
  look() {
    const list = missing();
    return list.length === 0
      ? { ready: true, detail: `${wanted().length} packages installed` }
      : { ready: false, detail: `not installed: ${list.join(' ')}` };
  },
  blockers,
  remedy: aptRemedy,
  make: (job) => installPackages(missing(), job),
};
