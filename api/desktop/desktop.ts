import { createRoute, z } from '@hono/zod-openapi';
import type { PortAddress } from '../../model/ports/port-address.ts';
import { startAnswers } from '../commands/start-answers.ts';
import { answerStart } from '../commands/start-command.ts';
import { requires } from '../http/auth.ts';
import { type App, serialised } from '../http/context.ts';
import { BODY, GUEST, KEYED, problems } from '../http/problem-answers.ts';
import { idempotencyHeaders, json, noQuery, preferHeaders } from '../http/schemas.ts';
import { DESKTOP_PORTS } from '../ports/desktop-ports.ts';
import { SaidConnections } from '../ports/said-connections.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { answerAction } from './answer-action.ts';
import { answerStream } from './answer-stream.ts';
import { beginAccess } from './desktop-access.ts';
import {
  actedAnswer,
  desktopAction,
  desktopAnswer,
  openOnDesktop,
  openStream,
  streamAnswer,
} from './desktop-schemas.ts';
import { readState } from './desktop-state.ts';
import { connected, Screens } from './open-screen.ts';
import { pngOf } from './rfb/png.ts';

const ALL = '/v1/sandboxes/{id}/desktop';
const tags = ['desktop'];
const looking = {
  tags,
  middleware: [requires('sandboxes:read')],
  request: { params: sandboxParams, query: noQuery, headers: preferHeaders },
};
const DESKTOP = [...GUEST, 'no_desktop', 'desktop_unavailable'] as const;
const PNG = 'image/png';

const look = createRoute({
  ...looking,
  method: 'get',
  path: ALL,
  operationId: 'getDesktop',
  summary: 'How large the screen is, where its pointer is, and which windows there are',
  responses: { 200: json('As it is now', desktopAnswer), ...problems(...DESKTOP) },
});

const screenshot = createRoute({
  ...looking,
  method: 'get',
  path: `${ALL}/screenshot`,
  operationId: 'screenshotDesktop',
  summary: 'The screen as a picture, with its pointer',
  responses: {
    200: { description: 'PNG', content: { [PNG]: { schema: z.string().openapi({ format: 'binary' }) } } },
    ...problems(...DESKTOP),
  },
});

const actOne = createRoute({
  method: 'post',
  path: `${ALL}/actions`,
  tags,
  operationId: 'actOnDesktop',
  summary: 'Move, click, drag, scroll, press keys or type, once',
  description:
    'Answered when the X server has done it; what programs make of it takes its time. A text is typed key by key; from its ' +
    'first character that is not of ASCII to the last it is pasted, with Shift+Insert.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: true, content: { 'application/json': { schema: desktopAction } } },
  },
  responses: {
    200: json('It is done: the size of the screen', actedAnswer),
    ...problems(BODY, KEYED, ...DESKTOP, 'policy_denied', 'desktop_uncertain'),
  },
});

const openOne = createRoute({
  method: 'post',
  path: `${ALL}/open`,
  tags,
  operationId: 'openOnDesktop',
  summary: 'Open an address in the browser, or start a program on the screen',
  description: 'A command that ends at once, while what it has started stays: the answer is that of `runCommand`.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: true, content: { 'application/json': { schema: openOnDesktop } } },
  },
  responses: startAnswers({
    ended: 'It was started',
    begun: 'It is going to be, or waits for approval; Location says where to look',
  }),
});

const streamOne = createRoute({
  method: 'post',
  path: `${ALL}/streams`,
  tags,
  operationId: 'openDesktopStream',
  summary: 'Let somebody see the screen live, or use it too',
  description:
    'A password of its own, which takes the place of the one of before of that mode, and a URL of noVNC, which asks for it. ' +
    'For that its port is opened as by `openPort`, and a token of it issued: who has both sees the screen until it expires.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: preferHeaders,
    body: { required: true, content: { 'application/json': { schema: openStream } } },
  },
  responses: {
    201: json('Where it is, and what it asks for, this once', streamAnswer),
    ...problems(
      BODY,
      ...DESKTOP,
      'policy_denied',
      'file_forbidden',
      'file_conflict',
      'guest_disk_full',
      'port_open',
      'ports_full',
    ),
  },
});

/** @param addresses where open ports are found */
export function desktopRoutes(app: App, addresses: PortAddress): void {
  const screens = new Screens();
  const said = new SaidConnections();
  app.openapi(look, async (c) => {
    const deps = c.get('deps');
    const place = await beginAccess(c, deps, c.req.valid('param').id, { kind: 'desktop.seen', detail: {}, said });
    const state = await connected(deps, place, DESKTOP_PORTS.look, ({ incoming }) => readState(incoming));
    return c.json(state, 200);
  });
  app.openapi(screenshot, async (c) => {
    const deps = c.get('deps');
    const place = await beginAccess(c, deps, c.req.valid('param').id, { kind: 'desktop.seen', detail: {}, said });
    const picture = await screens.with(deps, place, (screen) => screen.picture());
    const headers = { 'Content-Type': PNG, 'Cache-Control': 'no-store' };
    return serialised(new Response(new Uint8Array(await pngOf(picture)), { headers }));
  });
  app.openapi(actOne, async (c) => {
    const { id: sandboxId } = c.req.valid('param');
    const asked = { sandboxId, action: c.req.valid('json'), key: c.req.valid('header')['idempotency-key'] };
    return serialised(await answerAction(c, c.get('deps'), screens, asked));
  });
  app.openapi(openOne, async (c) => {
    const { url, argv = ['chromium', '--', url ?? ''] } = c.req.valid('json');
    // Before `--fork`, so that a policy sees which program it is.
    const request = { argv: ['setsid', '--fork', ...argv], env: { DISPLAY: ':1' } };
    return serialised(await answerStart(c, c.get('deps'), c.req.valid('param').id, request, c.req.valid('header')));
  });
  app.openapi(streamOne, async (c) => {
    const { id: sandboxId } = c.req.valid('param');
    return serialised(await answerStream(c, c.get('deps'), { sandboxId, ...c.req.valid('json') }, addresses));
  });
}
