import { RUNS_ANYTHING } from '../../model/approvals/command-pattern.ts';
import { refuseUnlessAllowed } from '../approvals/policy-check.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Ports of a desktop's loopback, as images/root.desktop has them. */
export const DESKTOP_PORTS = { screen: 5_901, look: 5_902, paste: 5_903, noVnc: 6_080 } as const;

/** Ports that allow typing with a password, or by a program of the guest. */
const TYPED_INTO: ReadonlySet<number> = new Set([DESKTOP_PORTS.screen, DESKTOP_PORTS.paste]);

/**
 * Refuses typing into a desktop, which can run anything in a terminal, by the rules for commands.
 * @throws MayflyError policy_denied
 */
export async function refuseTyping(deps: Pick<ServiceDeps, 'store'>, project: string): Promise<void> {
  await refuseUnlessAllowed(deps, project, { runs: RUNS_ANYTHING }, 'run a command instead');
}

/** Refuses as {@link refuseTyping} does when the port is one of a desktop. @throws MayflyError policy_denied */
export async function refuseTypingBy(port: number, deps: Pick<ServiceDeps, 'store'>, project: string): Promise<void> {
  if (TYPED_INTO.has(port)) await refuseTyping(deps, project);
}
