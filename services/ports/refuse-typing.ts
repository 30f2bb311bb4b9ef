import { ANY_COMMAND } from '../../model/approvals/command-pattern.ts';
import { assertAllowed } from '../approvals/policy-check.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Ports of a desktop's loopback, as images/root.desktop has them. */
export const DESKTOP_PORTS = { screen: 5_901, look: 5_902, paste: 5_903, noVnc: 6_080 } as const;

/** Ports that allow typing with a password, or by a program of the guest. */
const TYPING_PORTS: ReadonlySet<number> = new Set([DESKTOP_PORTS.screen, DESKTOP_PORTS.paste]);

/**
 * Refuses typing into a desktop, which can run anything in a terminal, by the rules for commands.
 * @throws MayflyError policy_denied
 */
export async function assertTypingAllowed(deps: Pick<ServiceDeps, 'store'>, project: string): Promise<void> {
  await assertAllowed(deps, project, { runs: ANY_COMMAND }, 'run a command instead');
}

/** Refuses as {@link assertTypingAllowed} does when the port is one of a desktop. @throws MayflyError policy_denied */
export async function assertPortTypingAllowed(
  port: number,
  deps: Pick<ServiceDeps, 'store'>,
  project: string,
): Promise<void> {
  if (TYPING_PORTS.has(port)) await assertTypingAllowed(deps, project);
}
