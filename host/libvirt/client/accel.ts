import { access, constants } from 'node:fs/promises';
import { ExecError, exec } from '../../os/exec.ts';

/** QEMU's name of this machine's architecture. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64' };

const PROBE = [{ execute: 'qmp_capabilities' }, { execute: 'cont' }, { execute: 'query-status' }, { execute: 'quit' }];

/**
 * Whether KVM runs a guest here, found out by running one for a moment: the device file can be there and every use of
 * it fail, as in a container or a VM without nested virtualisation.
 */
export async function kvmUsable(): Promise<boolean> {
  const readable = await access('/dev/kvm', constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!readable) return false;
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const machine = architecture === 'aarch64' ? 'virt' : 'pc';
  const guest = ['-machine', `${machine},accel=kvm`, '-cpu', 'host', '-m', '16', '-nodefaults', '-no-user-config'];
  try {
    const { stdout } = await exec(
      `qemu-system-${architecture}`,
      [...guest, '-display', 'none', '-S', '-qmp', 'stdio'],
      {
        input: PROBE.map((command) => JSON.stringify(command)).join('\n'),
        timeoutMs: 5_000,
      },
    );
    return /"status": *"running"/.test(stdout);
  } catch (error) {
    if (error instanceof ExecError) return false;
    throw error;
  }
}
