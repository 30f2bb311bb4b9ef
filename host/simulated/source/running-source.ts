import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import type { RunningSource } from '../../console.ts';
import { orAbsent, succeeds } from '../../os/absent.ts';
import { exec } from '../../os/exec.ts';
import { readJson } from '../../os/json-file.ts';
import { poll } from '../../os/poll.ts';
import { sendSignal } from '../../os/proc.ts';
import { makeKeyPair } from '../../ssh/key-pair.ts';
import { DEFAULT_IMAGE, imageRoot } from '../machine/image.ts';
import { freeAddress, GUEST_PORT } from '../machine/leases.ts';
import { childOf, processIds, rootOf } from '../machine/processes.ts';
import { NamespaceConsole } from './source-console.ts';

/** Configuration of an ordinary server, independent of Mayfly. */
const SSHD_CONFIG = `Include /etc/ssh/sshd_config.d/*.conf
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin no
UsePAM no
UseDNS no
PidFile none
Subsystem sftp internal-sftp
`;

/**
 * Boot script of a source, like a domain's, but with the source's own disk, and a writable /usr/local/lib below the
 * machine's /usr. A first boot writes inside the chroot: no link of its tree leads out of it. $1: root, $2: that
 * folder, $3: name, $4: address, $5: port, $6: an sshd_config where it has none.
 */
const BOOT_SOURCE = `set -eu
mount --bind -o ro /usr "$1/usr"
mount --bind "$2" "$1/usr/local/lib"
if [ -d /etc/alternatives ]; then mount --bind -o ro /etc/alternatives "$1/etc/alternatives"; fi
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
printf %s "$3" > /proc/sys/kernel/hostname
chroot "$1" /bin/sh -euc '
mkdir -p /etc/ssh/sshd_config.d /var/lib /run/sshd
[ -s /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N "" -C "$1" -f /etc/ssh/ssh_host_ed25519_key
[ -s /etc/ssh/sshd_config ] || printf %s "$2" >/etc/ssh/sshd_config' sh "$3" "$6"
exec chroot "$1" /usr/sbin/sshd -D -e -o "ListenAddress=$4:$5"`;

const RunningFile = z.strictObject({ pid: z.int().min(1), address: z.string() });
const START_MS = 30_000;
const POLL_MS = 5;
const POLLING = { everyMs: POLL_MS, withinMs: START_MS };

interface Ending {
  by: 'SIGTERM' | 'SIGKILL';
  /** Milliseconds. */
  withinMs: number;
  /** Ends the wait. */
  signal?: AbortSignal;
}
const KILLED: Ending = { by: 'SIGKILL', withinMs: START_MS };

/**
 * Running sources of a simulated host, for tests and demonstrations: images whose tree is the root of their own process
 * tree. A running one cannot be cloned.
 */
export class SimulatedSources {
  /** @param images the folder of all images */
  constructor(private readonly images: string) {}

  /** Makes an image of an ordinary server: the default one with a host key and an sshd_config of its own. */
  async make(name: string, sshdConfig = SSHD_CONFIG): Promise<void> {
    const folder = join(this.images, name);
    const staging = join(this.images, `.${name}.new`);
    await rm(staging, { recursive: true, force: true });
    await exec('cp', ['--archive', '--', join(this.images, DEFAULT_IMAGE), staging]);
    const etc = join(staging, 'root', 'etc', 'ssh');
    await mkdir(join(etc, 'sshd_config.d'), { recursive: true });
    await mkdir(join(staging, 'root', 'var', 'lib'), { recursive: true });
    await mkdir(join(staging, 'local-lib'));
    const pair = makeKeyPair(name);
    await writeFile(join(etc, 'sshd_config'), sshdConfig, { mode: 0o644 });
    await writeFile(join(etc, 'ssh_host_ed25519_key'), pair.privateKey, { mode: 0o600 });
    await writeFile(join(etc, 'ssh_host_ed25519_key.pub'), `${pair.publicKey}\n`, { mode: 0o644 });
    await rename(staging, folder);
  }

  /** Boots a source, unless it runs. Its processes outlive this one: {@link stop} it. */
  async start(name: string): Promise<void> {
    if (await this.#running(name)) return;
    await this.#killLeftovers(name);
    const address = await freeAddress(`source/${createHash('sha256').update(name).digest('hex')}`, new Set());
    const folder = await realpath(join(this.images, name));
    const root = join(folder, 'root');
    await mkdir(join(folder, 'local-lib'), { recursive: true });
    const log = await open(join(folder, 'console.log'), 'a', 0o600);
    try {
      const given = [root, join(folder, 'local-lib'), name, address, String(GUEST_PORT), SSHD_CONFIG];
      const boot = ['sh', '-c', BOOT_SOURCE, 'sh', ...given];
      const child = spawn('unshare', ['--pid', '--fork', '--mount', '--uts', '--kill-child', ...boot], {
        cwd: '/',
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        env: { PATH: '/usr/sbin:/usr/bin', LC_ALL: 'C' },
      });
      child.unref();
      const pid = await firstProcess(child, root);
      await awaitSshd(child, address);
      await writeFile(join(folder, 'running.json'), `${JSON.stringify({ pid, address })}\n`);
    } catch (error) {
      await this.#killLeftovers(name);
      throw error;
    } finally {
      await log.close();
    }
  }

  /**
   * @param how its first process may delay or ignore SIGTERM @throws MayflyError source_stop_failed; the reason of its
   * signal
   */
  async stop(name: string, how: Ending = KILLED): Promise<void> {
    const running = await this.#running(name);
    if (!running) return this.#killLeftovers(name);
    process.kill(running.pid, how.by); // process 1 of its namespace: the kernel ends the others
    const { withinMs, signal } = how;
    const look = async () => (await this.#running(name)) === null || null;
    if (!(await poll(look, { everyMs: POLL_MS, withinMs, ...(signal && { signal }) }))) {
      const why = `it was told to, and runs after ${withinMs / 1_000} s`;
      throw new MayflyError('source_stop_failed', `${JSON.stringify(name)} did not stop: ${why}.`);
    }
    await rm(join(this.images, name, 'running.json'), { force: true });
  }

  async isRunning(name: string): Promise<boolean> {
    return (await this.#running(name)) !== null;
  }

  /** @throws MayflyError source_not_running */
  async running(name: string): Promise<RunningSource> {
    const running = await this.#running(name);
    if (!running) throw new MayflyError('source_not_running', `${JSON.stringify(name)} is a stopped image.`);
    return {
      console: new NamespaceConsole(running.pid),
      addresses: async () => [{ address: running.address, port: GUEST_PORT }],
    };
  }

  async processesOf(name: string): Promise<readonly number[]> {
    const root = await realpath(imageRoot(this.images, name));
    return processIds().filter((pid) => rootOf(pid) === root);
  }

  /** Kills processes of a failed start, or of one that was killed before it could record them. */
  async #killLeftovers(name: string): Promise<void> {
    const look = async () => {
      const left = (await orAbsent(this.processesOf(name))) ?? [];
      for (const pid of left) sendSignal(pid, 'SIGKILL');
      return left.length === 0 || null;
    };
    if (await poll(look, POLLING)) return;
    throw new Error(`what is left of the simulated source ${name} survives SIGKILL`);
  }

  async #running(name: string): Promise<{ pid: number; address: string } | null> {
    const running = await readJson(join(this.images, name, 'running.json'), RunningFile);
    // The pid may be reused by now; this root proves that the process is ours.
    const root = running && (await orAbsent(realpath(imageRoot(this.images, name))));
    return root !== null && rootOf(running?.pid ?? 0) === root ? running : null;
  }
}

async function firstProcess(
  child: { pid?: number | undefined; exitCode: number | null },
  root: string,
): Promise<number> {
  const look = () => {
    const init = child.pid === undefined ? null : childOf(child.pid);
    return init !== null && rootOf(init) === root ? init : child.exitCode === null ? null : 0;
  };
  const pid = await poll(look, POLLING);
  if (pid) return pid;
  throw new Error(`the simulated source in ${root} does not start`);
}

/** Resolves when its sshd accepts connections, as a running machine's does. */
async function awaitSshd(child: { exitCode: number | null }, address: string): Promise<void> {
  const look = async () => {
    const socket = connect({ host: address, port: GUEST_PORT });
    const isOpen = await succeeds(once(socket, 'connect'));
    socket.destroy();
    return isOpen || (child.exitCode === null ? null : false);
  };
  if (!(await poll(look, POLLING))) throw new Error(`no sshd answers on ${address}`);
}
