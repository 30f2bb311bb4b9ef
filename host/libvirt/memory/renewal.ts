import { randomBytes } from 'node:crypto';
import { MayflyError } from '../../../model/errors.ts';
import type { HostKey } from '../../disk/host-key.ts';
import { poll } from '../../os/poll.ts';
import type { Virsh } from '../client/virsh.ts';
import { AgentConsole } from '../guest/agent-console.ts';
import type { GuestAgent } from '../guest/guest-agent.ts';
import { ENTROPY_BYTES, RENEW } from './renew-guest.ts';

interface Identity {
  sandboxId: string;
  hostKey: HostKey;
  userCaKeys: readonly string[];
}

export interface RenewalRequest {
  /** MAC address of each interface at the wake, and its new one. */
  macs: readonly { woke: string; own: string }[];
  /** Null: the machine keeps its identity. */
  identity: Identity | null;
  /** True when it was saved before it had a network: it has no address and no connection to drop. `@default` false */
  isUntouched?: boolean;
}

/** Timeout of the agent's first answer after the wake, ms. */
const AGENT_TIMEOUT_MS = 20_000;
const SCRIPT_TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 20;

/**
 * Renews a woken guest: clock, entropy, dropped connections, a new lease, a fork's own identity. One script does it
 * while everything else in the guest is frozen and its network is unplugged.
 */
export class Renewal {
  constructor(
    private readonly virsh: Virsh,
    private readonly agent: GuestAgent,
    private readonly agentMs = AGENT_TIMEOUT_MS,
  ) {}

  /** @throws MayflyError boot_failed unless the guest has confirmed all of it */
  async renew(sandboxId: string, wish: RenewalRequest, signal: AbortSignal): Promise<void> {
    const look = () => this.agent.clockAheadMs(sandboxId);
    const aheadMs = await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: this.agentMs, signal });
    if (aheadMs === null) {
      throw new MayflyError(
        'boot_failed',
        `The guest agent of ${sandboxId} does not answer after its memory came back.`,
      );
    }
    const nonce = randomBytes(16).toString('hex');
    const stdin = formatRequest(wish, nonce, aheadMs);
    const options = { stdin, isSecret: true, timeoutMs: SCRIPT_TIMEOUT_MS, signal };
    const { exitCode, stdout, stderr } = await new AgentConsole(this.virsh, sandboxId).run(
      ['perl', '-e', RENEW],
      options,
    );
    if (exitCode === 0 && stdout.trimEnd().endsWith(`renewed ${nonce}`)) return;
    const why = stderr.trim().slice(0, 200) || `exit status ${exitCode}`;
    throw new MayflyError('boot_failed', `${sandboxId} did not take what makes it another machine: ${why}`);
  }
}

/** Returns the input of {@link RENEW}. @param aheadMs by which its clock is set back */
export function formatRequest(
  { macs, identity, isUntouched = false }: RenewalRequest,
  nonce: string,
  aheadMs: number,
): string {
  const lines = [`late ${-aheadMs}`, `entropy ${randomBytes(ENTROPY_BYTES).toString('hex')}`];
  for (const { woke, own } of macs) lines.push(`nic ${woke} ${own}`);
  if (!isUntouched) lines.push('leave network');
  if (identity) {
    const { sandboxId, hostKey, userCaKeys } = identity;
    lines.push(`name ${sandboxId}`);
    lines.push(
      'file host-key',
      ...quoteLines(hostKey.privateKey),
      'file host-key.pub',
      ...quoteLines(hostKey.publicKey),
    );
    lines.push('file user_ca.pub', ...userCaKeys.flatMap(quoteLines));
    lines.push('file principals', ...quoteLines(sandboxId), 'file revoked_keys');
  }
  return `${[...lines, `nonce ${nonce}`].join('\n')}\n`;
}

function quoteLines(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => `| ${line}`);
}
