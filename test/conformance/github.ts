import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import type { App } from '../../api/http/context.ts';
import { signDelivery } from '../../services/webhooks/signing/sign.ts';
import { type Door, noGuests, openDoor } from '../api/support.ts';
import { type Part, Tally } from './part.ts';

interface Examples {
  name: string;
  examples: Record<string, unknown>[];
}

const SECRET = "It's a Secret to Everybody";
const FUNCTION = 'github-examples';

/**
 * Sends every example payload of Octokit's GitHub webhooks twice to a hook: one run each, of the right type and source.
 */
export const github: Part = async (materials) => {
  const events = materials.require('@octokit/webhooks-examples') as Examples[] | { default: Examples[] };
  const tally = new Tally();
  const door = await openDoor();
  try {
    const logger = pino({ level: 'silent' });
    const app = createApp({ store: door.store, sagas: door.sagas, guests: noGuests, version: '0', logger });
    const path = await hookOf(door);
    let nth = 0;
    for (const { name, examples } of Array.isArray(events) ? events : events.default) {
      for (const payload of examples)
        await sendTwice(tally, door, (id, body) => send(app, path, name, id, body), `${name}-${nth++}`, name, payload);
    }
  } finally {
    await door.close();
  }
  return tally;
};

async function hookOf(door: Door): Promise<string> {
  const deployed = await door.call('PUT', `/v1/functions/${FUNCTION}`, { source: 'golden', command: 'true' });
  if (deployed.status !== 201) throw new Error(await deployed.text());
  const made = await door.call('POST', '/v1/hooks', { function: FUNCTION, scheme: 'github', secrets: [SECRET] });
  if (made.status !== 201) throw new Error(await made.text());
  return ((await made.json()) as { path: string }).path;
}

async function sendTwice(
  tally: Tally,
  door: Door,
  sent: (id: string, body: string) => Promise<Response>,
  id: string,
  event: string,
  payload: Record<string, unknown>,
): Promise<void> {
  const body = JSON.stringify(payload);
  const first = await sent(id, body);
  const { runId } = (await first.json()) as { runId?: string };
  if (event === 'ping') return tally.count(id, first.status === 200 && runId === undefined, `${first.status}`);
  const second = await sent(id, body);
  const again = (await second.json()) as { runId?: string };
  const isOne = first.status === 202 && second.status === 200 && runId !== undefined && again.runId === runId;
  tally.count(id, isOne, `${first.status} and ${second.status}`);
  if (runId === undefined) return;
  const run = (await (await door.call('GET', `/v1/runs/${runId}`)).json()) as {
    event: { type: string; source: string };
  };
  const { action, repository } = payload as { action?: string; repository?: { url?: string } };
  const type = `com.github.${event}${typeof action === 'string' ? `.${action}` : ''}`;
  tally.count(`${id} type`, run.event.type === type, run.event.type);
  if (repository?.url !== undefined) tally.count(`${id} source`, run.event.source === repository.url, run.event.source);
}

/** Sends an event, and retries after the delay of a 429. */
async function send(app: App, path: string, event: string, id: string, body: string): Promise<Response> {
  const signed = signDelivery({ scheme: 'github' }, [SECRET], { id, body: Buffer.from(body), now: Date.now() });
  const headers = [...signed, ['x-github-event', event], ['content-type', 'application/json']] as [string, string][];
  const response = await app.request(path, { method: 'POST', headers, body });
  if (response.status !== 429) return response;
  await pause(Number(response.headers.get('retry-after') ?? 1) * 1_000);
  return send(app, path, event, id, body);
}
