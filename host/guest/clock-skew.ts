import type { Readable } from 'node:stream';
import { z } from 'zod';
import { readSmall } from './agent-body.ts';

const ANSWER_BYTES = 4_096;
/** Session that can request its agent's health. */
interface HealthSession {
  request(wish: { method: 'GET'; path: string }): Promise<{ body: Readable }>;
}

const health = z.object({ now: z.iso.datetime().max(40) });

/**
 * Measures how far a guest's clock is ahead of this machine's: the guest's time minus the middle of the round trip.
 * @returns ms; 0 when the guest does not report its time
 */
export async function measureClockSkew(session: HealthSession): Promise<number> {
  try {
    const began = performance.now();
    const { body } = await session.request({ method: 'GET', path: '/v1/health' });
    const answeredAt = Date.now() - (performance.now() - began) / 2;
    const { now } = health.parse(JSON.parse((await readSmall(body, ANSWER_BYTES, 'guest_failed')).toString()));
    return Date.parse(now) - answeredAt;
  } catch {
    return 0; // requests report a lost connection themselves
  }
}
