import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { operationIdFrom } from '../../model/ids.ts';
import { refuseUnlessAllowed } from '../approvals/permission.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, freeRequest } from '../http/idempotency.ts';
import { sandboxOfPath } from '../resources/require-sandbox.ts';
import { act, type DesktopAction } from './act.ts';
import { beginAccess } from './desktop-access.ts';
import type { Screens } from './open-screen.ts';

/**
 * POST …/desktop/actions: once, however often it is sent with the same Idempotency-Key.
 * @throws MayflyError policy_denied, no_desktop, desktop_unavailable, desktop_unheard, desktop_uncertain, and as {@link beginAccess}
 */
export async function answerAction(
  c: Context<Env>,
  deps: RequestDeps,
  screens: Screens,
  { sandboxId, action, key }: { sandboxId: string; action: DesktopAction; key: string | undefined },
): Promise<Response> {
  await refuseTyping(c, deps, sandboxId);
  return answerOnce(c, deps.store, { idFrom: operationIdFrom, key, body: action }, async (attempt) => {
    if (!attempt.isFresh) throw new MayflyError('desktop_uncertain', 'It was begun, and nobody has said how it ended.');
    let isBegun = false;
    try {
      const place = await beginAccess(c, deps, sandboxId, { kind: 'desktop.used', detail: toldOf(action) });
      const size = await screens.with(deps, place, async (screen) => {
        isBegun = true;
        await act(screen, action);
        return { width: screen.width, height: screen.height };
      });
      return { response: c.json(size, 200), isKept: true };
    } catch (error) {
      if (!isBegun) await freeRequest(deps.store, attempt);
      throw error;
    }
  });
}

/** Who types into a terminal runs what he likes. @throws MayflyError policy_denied */
export async function refuseTyping(c: Context<Env>, deps: RequestDeps, sandboxId: string): Promise<void> {
  const { project } = await sandboxOfPath(c, deps, sandboxId);
  await refuseUnlessAllowed(deps, project, { runs: { commands: null, user: null } }, 'run a command instead');
}

/** Without texts, which may be passwords. */
function toldOf(action: DesktopAction): Record<string, unknown> {
  if (action.action === 'type') return { action: 'type', characters: action.text.length };
  return { ...action };
}
