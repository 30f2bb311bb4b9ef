import { RUNS_ANYTHING } from '../../model/approvals/command-pattern.ts';
import { refuseUnlessAllowed } from '../approvals/policy-check.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Ports of a desktop's loopback, as images/root.desktop has them. */
export const DESKTOP_PORTS = { screen: 5_901, look: 5_902, paste: 5_903, noVnc: 6_080 } as const;

/** Ports by which somebody types who knows a password, or by a program of the guest. */
const TYPED_INTO: ReadonlySet<number> = new Set([DESKTOP_PORTS.screen, DESKTOP_PORTS.paste]);

/** Refuses typing into a desktop, where a terminal runs anything, by the rules about commands. @throws MayflyError policy_denied */
export async function refuseTyping(deps: Pick<ServiceDeps, 'store'>, project: string): Promise<void> {
  await refuseUnlessAllowed(deps, project, { runs: RUNS_ANYTHING }, 'run a command instead');
}

/** As {@link refuseTyping}, when the port is one of a desktop's. @throws MayflyError policy_denied */
export async function refuseTypingBy(port: number, deps: Pick<ServiceDeps, 'store'>, project: string): Promise<void> {
  if (TYPED_INTO.has(port)) await refuseTyping(deps, project);
}
