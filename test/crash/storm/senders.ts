import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../random.ts';

/** Event as it was sent; may be a duplicate. */
export interface Sent {
  event: number;
  runId: string;
  /** Time of the answered request from its first send, ms since the storm began; null: it was retried. */
  answered: { from: number; to: number } | null;
}

/** Pause and timeout of a client's retries, ms. */
const PAUSE_MS = 100;
const PATIENCE_MS = 120_000;

/** Returns the events in sending order; a fifth are duplicates. */
export function stormOf(count: number, random: SeededRandom): number[] {
  const unique = Math.max(1, Math.round((count * 4) / 5));
  const events = Array.from({ length: count }, (_, n) => (n < unique ? n : random.below(unique)));
  return random.shuffled(events);
}

export interface Sending {
  rate: number;
  /** Milliseconds, of any origin. */
  began: number;
  urlOf: (event: number) => string;
  bodyOf: (event: number) => string;
  key: string;
}

/** Sends each event at its time, independently of slow ones. */
export async function sendAll(events: readonly number[], sending: Sending): Promise<Sent[]> {
  const { rate, began } = sending;
  const sent = events.map(async (event, n) => {
    await sleep(Math.max(0, began + (n * 1_000) / rate - performance.now()));
    return insisted(event, sending);
  });
  return Promise.all(sent);
}

async function insisted(event: number, sending: Sending): Promise<Sent> {
  for (let isFirst = true, deadline = performance.now() + PATIENCE_MS; ; isFirst = false) {
    const from = performance.now() - sending.began;
    const runId = await sentOnce(event, sending);
    const to = performance.now() - sending.began;
    if (runId !== null) return { event, runId, answered: isFirst ? { from, to } : null };
    if (performance.now() > deadline) throw new Error(`event ${event} was not answered for ${PATIENCE_MS / 1_000} s`);
    await sleep(PAUSE_MS);
  }
}

/**
 * Sends an event once. @returns null to retry, after no answer or a retryable one. @throws Error it is refused for good
 */
async function sentOnce(event: number, { urlOf, bodyOf, key }: Sending): Promise<string | null> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/cloudevents+json' };
  try {
    const answer = await fetch(urlOf(event), { method: 'POST', headers, body: bodyOf(event) });
    const text = await answer.text();
    if (answer.ok) return (JSON.parse(text) as { id: string }).id;
    if (answer.status >= 500 || answer.status === 429) return null;
    throw new TypeError(`event ${event} is refused: ${answer.status} ${text.slice(0, 500)}`);
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('event ')) throw error;
    return null; // the connection broke: the event may be stored or not
  }
}
