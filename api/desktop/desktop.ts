import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { operationIdFrom } from '../../model/ids.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { recordAccess } from '../../services/audit/record-access.ts';
import { useDesktop } from '../../services/desktop/act.ts';
import { type DesktopAction, desktopAction } from '../../services/desktop/desktop-action.ts';
import { readState } from '../../services/desktop/desktop-state.ts';
import { pngOf } from '../../services/desktop/rfb/picture.ts';
import { type AwakeSandbox, openStream, withConnection } from '../../services/desktop/screens.ts';
import { assertTypingAllowed, DESKTOP_PORTS } from '../../services/ports/refuse-typing.ts';
import { startCommand } from '../commands/command-schemas.ts';
import { answerStart, startAnswers } from '../commands/start-command.ts';
import { actorOf, type Env } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { GUEST, idempotencyHeaders, instant, json, openapiExtras, preferHeaders } from '../http/schemas.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import { issueToken } from '../ports/port-schemas.ts';
import { sandboxOfPath, wakeAndTouch } from '../resources/entered-sandbox.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

const actedAnswer = z.object({ width: z.int(), height: z.int() }).openapi('DesktopActed');

const desktopAnswer = z
  .object({
    width: z.int(),
    height: z.int(),
    pointer: z.object({ x: z.int(), y: z.int() }),
    windows: z.array(
      z.object({
        id: z.string(),
        pid: z.int().nullable(),
        class: z.string(),
        title: z.string(),
        x: z.int(),
        y: z.int(),
        width: z.int(),
        height: z.int(),
        isActive: z.boolean(),
      }),
    ),
  })
  .openapi('Desktop');

const openOnDesktop = z
  .strictObject({
    url: z
      .string()
      .max(4_096)
      .regex(/^(?:https?|file):\/\/[!-~]+$/, 'must be an address that begins with http://, https:// or file://')
      .optional(),
    argv: startCommand.shape.argv,
  })
  .refine(({ url, argv }) => (url === undefined) !== (argv === undefined), 'must have either url or argv')
  .openapi('OpenOnDesktop', openapiExtras({ oneOf: [{ required: ['url'] }, { required: ['argv'] }] }));

const openStreamRequest = z
  .strictObject({ mode: z.enum(['view', 'control']), ttlSeconds: issueToken.shape.ttlSeconds })
  .openapi('OpenDesktopStream');

const streamAnswer = z
  .object({
    mode: z.enum(['view', 'control']),
    password: z.string().openapi({ description: 'What noVNC asks for; VNC programs too' }),
    port: z.int(),
    url: z.string().openapi({ description: 'Of noVNC, with a token: what a browser is given' }),
    expiresAt: instant,
  })
  .openapi('DesktopStream');

const route = routeOf('desktop');

const ALL = '/v1/sandboxes/{id}/desktop';
const DESKTOP = [...GUEST, 'no_desktop', 'desktop_unavailable'] as const;
const PNG = 'image/png';

export const desktopRoutes: Route[] = [
  route('getDesktop', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'How large the screen is, where its pointer is, and which windows there are',
    in: { params: sandboxParams, headers: preferHeaders },
    out: { 200: json('As it is now', desktopAnswer) },
    problems: [...DESKTOP],
    handle: async ({ c, deps, params }) => {
      const place = await enterForView(c, params.id);
      return withConnection(deps, place, DESKTOP_PORTS.look, ({ incoming }) => readState(incoming));
    },
  }),
  route('getDesktopScreenshot', 'get', `${ALL}/screenshot`, {
    scope: 'sandboxes:read',
    summary: 'The screen as a picture, with its pointer',
    in: { params: sandboxParams, headers: preferHeaders },
    out: { 200: { description: 'PNG', content: { [PNG]: { schema: z.string().openapi({ format: 'binary' }) } } } },
    problems: [...DESKTOP],
    handle: async ({ c, deps, params }) => {
      const place = await enterForView(c, params.id);
      const picture = await deps.screens.with(deps, place, (screen) => screen.picture());
      return c.body(new Uint8Array(await pngOf(picture)), 200, { 'Content-Type': PNG, 'Cache-Control': 'no-store' });
    },
  }),
  route('actOnDesktop', 'post', `${ALL}/actions`, {
    scope: 'sandboxes:write',
    summary: 'Move, click, drag, scroll, press keys or type, once',
    description:
      'Answered when the X server has done it; what programs make of it takes its time. A text is typed key by key; from its ' +
      'first character that is not of ASCII to the last it is pasted, with Shift+Insert.',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: desktopAction },
    out: { 200: json('It is done: the size of the screen', actedAnswer) },
    problems: [...DESKTOP, 'policy_denied', 'desktop_uncertain'],
    handle: async ({ c, deps, respond, params: { id }, body }) => {
      await assertTypingAllowed(deps, (await sandboxOfPath(c, id)).project);
      return answerOnce({ c, respond }, { idFrom: operationIdFrom }, async (call) => {
        const size = await useDesktop(deps, call, body, async () => {
          const place = await wakeAndTouch(c, id);
          await recordUse(c, place, 'desktop.used', toView(body));
          return place;
        });
        return keep(size);
      });
    },
  }),
  route('openOnDesktop', 'post', `${ALL}/open`, {
    scope: 'sandboxes:write',
    summary: 'Open an address in the browser, or start a program on the screen',
    description: 'A command that ends at once, while what it has started stays: the answer is that of `createCommand`.',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: openOnDesktop },
    ...startAnswers({
      ended: 'It was started',
      begun: 'It is going to be, or waits for approval; Location says where to look',
    }),
    handle: (call) => {
      const { url, argv = ['chromium', '--', url ?? ''] } = call.body;
      // Command for the policy, which judges the program before `--fork`.
      const request = { argv: ['setsid', '--fork', ...argv], env: { DISPLAY: ':1' } };
      return answerStart(call, call.params.id, request);
    },
  }),
  route('createDesktopStream', 'post', `${ALL}/streams`, {
    scope: 'sandboxes:write',
    summary: 'Let somebody see the screen live, or use it too',
    description:
      'A password of its own, which takes the place of the one of before of that mode, and a URL of noVNC, which asks for it. ' +
      'For that its port is opened as by `createPort`, and a token of it issued: who has both sees the screen until it expires.',
    in: { params: sandboxParams, headers: preferHeaders, body: openStreamRequest },
    out: { 201: json('Where it is, and what it asks for, this once', streamAnswer) },
    problems: [
      ...DESKTOP,
      'policy_denied',
      'file_forbidden',
      'file_conflict',
      'guest_disk_full',
      'port_open',
      'ports_full',
    ],
    handle: async ({ c, deps, actor, params: { id }, body }) => {
      if (body.mode === 'control') await assertTypingAllowed(deps, (await sandboxOfPath(c, id)).project);
      const place = await wakeAndTouch(c, id);
      await recordUse(c, place, 'desktop.stream-opened', { mode: body.mode });
      return c.json(await openStream(deps, actor, place, body), 201, { 'Cache-Control': 'no-store' });
    },
  }),
];

/** Enters a sandbox to view its screen. Viewers poll often: one audit event covers a minute. */
async function enterForView(c: Context<Env>, sandboxId: string): Promise<AwakeSandbox> {
  const place = await wakeAndTouch(c, sandboxId);
  const by = c.get('apiKey').id;
  await c
    .get('deps')
    .looks.once({ by, sandboxId, port: DESKTOP_PORTS.screen }, () => recordUse(c, place, 'desktop.seen', {}));
  return place;
}

/** Records a use, before it happens. */
function recordUse(
  c: Context<Env>,
  { sandboxId, hostId }: AwakeSandbox,
  kind: Extract<AuditKind, `desktop.${string}`>,
  detail: Record<string, unknown>,
): Promise<void> {
  return recordAccess(c.get('deps'), sandboxId, { kind, actor: actorOf(c), hostId, detail });
}

/** Returns an action without its text, which may be a password. */
function toView(action: DesktopAction): Record<string, unknown> {
  return action.action === 'type' ? { action: 'type', characters: action.text.length } : { ...action };
}
