import { MayflyError } from '../../../model/errors.ts';
import type { EventDefaults } from '../../../model/events/cloud-event.ts';
import { readEvent } from '../../../model/events/read-event.ts';

export const DEFAULTS: EventDefaults = {
  id: 'evt_1',
  source: '/v1/functions/hello',
  type: 'dev.mayfly.request',
  time: '2026-10-01T12:00:00Z',
};

export const bytes = (text: string) => new TextEncoder().encode(text);
export const text = (utf8: Uint8Array) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(utf8);

/** Reads one request; a string body is UTF-8. */
export function read(headers: Record<string, string>, body: string | Uint8Array) {
  const event = readEvent(
    { headers: Object.entries(headers), body: typeof body === 'string' ? bytes(body) : body },
    DEFAULTS,
  );
  return { ...event, text: text(event.json) };
}

/** Returns the code and the fields of a thrown error. */
export function thrown(act: () => unknown): { code: string; fields: string[] } {
  try {
    act();
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error;
    return { code: error.code, fields: (error.options.fields ?? []).map(({ field }) => field) };
  }
  throw new Error('nothing was thrown');
}
