import { MayflyError } from '../errors.ts';
import { invalidEvent, type ReceivedEvent } from './cloud-event.ts';
import { readJson, utf8Text } from './json/json-text.ts';
import { eachItemText } from './json/member-text.ts';
import { readStructured } from './structured-mode.ts';

/** Event of a batch, or the reason why it is invalid (invalid_event). */
export type BatchItem = { event: ReceivedEvent } | { problem: MayflyError };

const MOST_EVENTS = 1_000;

/**
 * Parses the events of a batch (JSON batch format §4) in order; an empty batch is valid. An invalid event does not
 * affect the others.
 * @throws MayflyError invalid_json; invalid_event when the batch is no array or has more than `mostEvents`
 */
export function readBatch(body: Uint8Array, mostEvents = MOST_EVENTS): BatchItem[] {
  const { bytes, value } = readJson(body);
  if (!Array.isArray(value)) throw invalidEvent([{ field: 'batch', problem: 'is no JSON array' }]);
  if (value.length > mostEvents) {
    throw invalidEvent([{ field: 'batch', problem: `has more than ${mostEvents} events` }]);
  }
  const encoder = new TextEncoder();
  return Array.from(eachItemText(utf8Text(bytes) ?? ''), (item, index) => readItem(encoder.encode(item), value[index]));
}

function readItem(bytes: Uint8Array, value: unknown): BatchItem {
  try {
    return { event: readStructured({ bytes, value }) };
  } catch (error) {
    if (error instanceof MayflyError) return { problem: error };
    throw error;
  }
}
