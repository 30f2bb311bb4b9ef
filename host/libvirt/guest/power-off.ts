import { MayflyError } from '../../../model/errors.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import { AgentConsole } from './agent-console.ts';

/**
 * Command that powers off, without libvirt's shutdown: a guest without logind ignores the power button, and the agent's
 * guest-shutdown uses `+0` minutes. Delayed, so that the agent can still answer.
 */
const POWER_OFF = ['/bin/sh', '-c', '(sleep 1; exec /sbin/shutdown -P now) </dev/null >/dev/null 2>&1 &'];

/** @returns true when the agent accepted; false may be temporary, also of a guest that went down before the answer */
export async function powerOff(virsh: Virsh, domain: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { exitCode } = await new AgentConsole(virsh, domain).run(POWER_OFF, { signal });
    return exitCode === 0;
  } catch (error) {
    if (error instanceof VirshError || error instanceof MayflyError) return false;
    throw error;
  }
}
