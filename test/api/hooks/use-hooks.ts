import { pino } from 'pino';
import { beforeAll } from 'vitest';
import { createApp } from '../../../api/app.ts';
import type { App } from '../../../api/http/context.ts';
import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { signDelivery } from '../../../services/webhooks/signing/sign.ts';
import type { Header } from '../../../services/webhooks/signing/verdict.ts';
import { HANGS_AFTER_MS } from '../../support/test-timeouts.ts';
import { jsonOf, noGuests, useDoor } from '../support.ts';

export interface HookView {
  id: string;
  path: string;
  secretCount: number;
  disabledAt: string | null;
}

export const SECRET = 'mysecret';
export const GITHUB: SignatureScheme = { scheme: 'github' };
export const JSON_TYPE: Header = ['content-type', 'application/json'];

let deliveries = 0;

export function githubHeaders(
  body: string | Uint8Array,
  more: { id?: string; event?: string; secret?: string } = {},
): Header[] {
  const { id = `delivery-${++deliveries}`, event = 'push', secret = SECRET } = more;
  const signed = signDelivery(GITHUB, [secret], { id, body: Buffer.from(body), now: Date.now() });
  return [...signed, ['x-github-event', event], JSON_TYPE];
}

/** Opens the API with functions that have hooks; collects its log lines. */
export function useHooks() {
  const door = useDoor();
  let app: App | undefined;
  const lines: string[] = [];
  let functions = 0;
  const opened = () => {
    if (!app) throw new Error('the door has not been opened');
    return { ...door, app };
  };
  beforeAll(async () => {
    const logger = pino({ level: 'info' }, { write: (line) => lines.push(line) });
    const { store, sagas } = door;
    app = createApp({ store, sagas, guests: noGuests, version: '0', hookAnswerMs: HANGS_AFTER_MS, logger });
  });

  /** Deploys a new function. @returns its name */
  async function deploy(more: object = {}): Promise<string> {
    const name = `hooked-${++functions}`;
    const response = await opened().call('PUT', `/v1/functions/${name}`, {
      source: 'golden',
      command: 'true',
      ...more,
    });
    if (response.status !== 201) throw new Error(await response.text());
    return name;
  }

  async function make(wish: object = {}): Promise<HookView> {
    const name = await deploy();
    const response = await opened().call('POST', '/v1/hooks', {
      function: name,
      scheme: 'github',
      secrets: [SECRET],
      ...wish,
    });
    if (response.status !== 201) throw new Error(await response.text());
    return jsonOf<HookView>(response);
  }

  /** Sends a delivery without a key. */
  async function send(
    hook: Pick<HookView, 'path'>,
    headers: readonly Header[],
    body: string | Uint8Array,
  ): Promise<Response> {
    const request = { method: 'POST', headers: headers as [string, string][], body: Buffer.from(body) };
    return opened().app.request(hook.path, request);
  }

  async function runsOf(name: string): Promise<number> {
    return (await opened().store.runs.list({ project: 'default', function: name, limit: 100 })).items.length;
  }

  return { door: opened, deploy, make, send, runsOf, lines };
}

export async function said(
  response: Response | Promise<Response>,
): Promise<{ status: number; code?: string; runId?: string }> {
  const answer = await response;
  const body = (await answer.json()) as { code?: string; runId?: string };
  return { status: answer.status, ...body };
}
