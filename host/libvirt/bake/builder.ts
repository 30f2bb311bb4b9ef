import { MayflyError } from '../../../model/errors.ts';
import { oneLine } from '../../os/one-line.ts';
import { poll } from '../../os/poll.ts';
import type { StepContext } from '../../step-context.ts';
import type { Domains } from '../client/domains.ts';
import type { Virsh } from '../client/virsh.ts';
import { AgentConsole } from '../guest/agent-console.ts';
import type { GuestAgent } from '../guest/guest-agent.ts';
import { powerOff } from '../guest/power-off.ts';
import { isActive } from '../output/domain-state.ts';
import { CLEAN_GUEST } from './clean-guest.ts';

/** Timeout from the first login to the guest agent: some seconds under emulation. Milliseconds. */
const AGENT_MS = 60_000;
/** Timeout of the cleanup: a guest with a million small files takes minutes under emulation. Milliseconds. */
const CLEAN_MS = 600_000;
/** Timeout of a shutdown: systemd gives a unit 90 s. Milliseconds. */
const SHUTDOWN_MS = 180_000;
const POLL_INTERVAL_MS = 200;
const COMPLAINT_CHARACTERS = 500;

/** Operations on the sandbox whose disks become a source, until it is off. */
export class Builder {
  constructor(
    private readonly virsh: Virsh,
    private readonly domains: Domains,
    private readonly agent: GuestAgent,
  ) {}

  /** Cleans from inside, where its file systems are mounted anyway. @throws MayflyError bake_failed */
  async clean(builderId: string, context: StepContext): Promise<void> {
    const { signal } = context;
    context.alive('waiting for the guest agent');
    await this.agent.wait(builderId, AGENT_MS, signal); // it starts after sshd
    context.alive('cleaning the guest');
    const guest = new AgentConsole(this.virsh, builderId);
    try {
      const argv = ['/bin/sh', '-c', CLEAN_GUEST];
      const { exitCode, stderr } = await guest.run(argv, { signal, timeoutMs: CLEAN_MS });
      if (exitCode === 0) return;
      throw new MayflyError(
        'bake_failed',
        `The guest could not be cleaned: ${oneLine(stderr.slice(-COMPLAINT_CHARACTERS))}`,
      );
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof MayflyError) || !['prepare_failed', 'source_not_running'].includes(error.code))
        throw error;
      throw new MayflyError('bake_failed', `${builderId} cannot be cleaned. ${error.message}`, { cause: error });
    }
  }

  /** @throws MayflyError bake_failed when the guest does not shut down, or is missing */
  async shutDown(builderId: string, context: StepContext): Promise<void> {
    const { signal } = context;
    let isRequested = false;
    const look = async () => {
      const state = (await this.domains.describe(builderId))?.state;
      if (state === undefined)
        throw new MayflyError('bake_failed', `${builderId} is gone: it was destroyed meanwhile.`);
      if (!isActive(state)) return true;
      context.alive(`${builderId} is ${state}`);
      if (!isRequested) isRequested = await powerOff(this.virsh, builderId, signal);
      return null;
    };
    if (await poll(look, { everyMs: POLL_INTERVAL_MS, withinMs: SHUTDOWN_MS, signal })) return;
    throw new MayflyError('bake_failed', `${builderId} does not shut down.`);
  }
}
