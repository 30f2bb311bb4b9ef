import { MayflyError } from '../../../model/errors.ts';
import { type Virsh, VirshError } from '../client/virsh.ts';
import { AgentConsole } from './agent-console.ts';

/**
 * Not libvirt's own: a guest without logind hears neither the power button nor the agent's guest-shutdown, which asks
 * for `+0` minutes. In a moment, so that the agent can still say that it was told.
 */
const POWER_OFF = ['/bin/sh', '-c', '(sleep 1; exec /sbin/shutdown -P now) </dev/null >/dev/null 2>&1 &'];

/**
 * @returns whether its agent took that; it may answer again in a moment, and one that goes down first did what was
 * asked
 */
export async function powerOff(virsh: Virsh, domain: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { exitCode } = await new AgentConsole(virsh, domain).run(POWER_OFF, { signal });
    return exitCode === 0;
  } catch (error) {
    if (error instanceof VirshError || error instanceof MayflyError) return false;
    throw error;
  }
}
