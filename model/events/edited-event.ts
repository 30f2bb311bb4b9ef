import { invalidEvent, type ReceivedEvent } from './cloud-event.ts';
import { readJson } from './json/json-text.ts';
import { readStructured } from './structured-mode.ts';

/**
 * Parses an edited event, which inherits absent required attributes from the original.
 * @param text JSON
 * @param original inherited attributes
 * @throws MayflyError invalid_event
 */
export function parseEditedEvent(text: string, original: { id: string; source: string; type: string }): ReceivedEvent {
  const { value } = readJson(new TextEncoder().encode(text));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidEvent([{ field: 'event', problem: 'is no JSON object' }]);
  }
  const { id, source, type } = original;
  const absent = Object.entries({ specversion: '1.0', id, source, type }).filter(
    ([name]) => !Object.hasOwn(value, name),
  );
  const own = text.slice(text.indexOf('{') + 1);
  const members = absent.map(([name, known]) => `${JSON.stringify(name)}:${JSON.stringify(known)}`).join(',');
  const comma = members !== '' && Object.keys(value).length > 0 ? ',' : '';
  return readStructured(readJson(new TextEncoder().encode(`{${members}${comma}${own}`)));
}
