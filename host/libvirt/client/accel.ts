import { access, constants, readFile } from 'node:fs/promises';
import { getuid } from 'node:process';
import { nullIf, succeeds } from '../../os/absent.ts';
import { ExecError, exec } from '../../os/exec.ts';

/** QEMU's name of this machine's architecture. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** Timeout of the probe, ms; a busy machine takes seconds. */
const PROBE_MS = 30_000;
const PROBE = [{ execute: 'qmp_capabilities' }, { execute: 'cont' }, { execute: 'query-status' }, { execute: 'quit' }];

/** User of libvirt's QEMUs: on Debian and Ubuntu, and elsewhere. */
const QEMU_USERS = ['libvirt-qemu', 'qemu'];

/**
 * Reports whether KVM works, by running a guest: the device file can exist and every use of it fail. Runs as the user
 * of libvirt's QEMUs: a device that only root may open is of no use to them.
 */
export async function kvmUsable(): Promise<boolean> {
  if (!(await succeeds(access('/dev/kvm', constants.R_OK | constants.W_OK)))) return false;
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const machine = architecture === 'aarch64' ? 'virt' : 'pc';
  const guest = ['-machine', `${machine},accel=kvm`, '-cpu', 'host', '-m', '16', '-nodefaults', '-no-user-config'];
  const argv = [`qemu-system-${architecture}`, ...guest, '-display', 'none', '-S', '-qmp', 'stdio'];
  const user = getuid?.() === 0 ? await qemuUser() : undefined;
  const [program = '', ...rest] = user === undefined ? argv : ['runuser', '-u', user, '--', ...argv];
  const input = PROBE.map((command) => JSON.stringify(command)).join('\n');
  const ran = exec(program, rest, { input, timeoutMs: PROBE_MS });
  const said = await nullIf(ran, (error) => error instanceof ExecError);
  return /"status": *"running"/.test(said?.stdout ?? '');
}

/** Returns undefined without such a user: then QEMU is not started by libvirt. */
async function qemuUser(): Promise<string | undefined> {
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n');
  return QEMU_USERS.find((user) => accounts.some((line) => line.startsWith(`${user}:`)));
}
