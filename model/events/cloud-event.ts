import { MayflyError } from '../errors.ts';

/** String, 32-bit integer or boolean. Values from headers are strings, since headers carry no type. */
export type AttributeValue = string | number | boolean;

/** Context attributes of an event (CloudEvents 1.0.2). */
export interface EventAttributes {
  specversion: '1.0';
  id: string;
  /** URI-reference. */
  source: string;
  type: string;
  /** RFC 3339, as sent. */
  time?: string;
  subject?: string;
  /** Absolute URI. */
  dataschema?: string;
  /** Media type. `@default` application/json */
  datacontenttype?: string;
  /** Extension attributes by name; may be empty. */
  extensions: Record<string, AttributeValue>;
}

export interface ReceivedEvent {
  attributes: EventAttributes;
  /** Event in the JSON format, UTF-8 without a byte order mark. Numbers and escapes in its data are as sent. */
  json: Uint8Array;
  /** Parsed JSON data, nested as deeply as sent: JSON.stringify may overflow. Undefined: no data, or not JSON. */
  data: unknown;
}

/** Attributes of an event that was sent without any. */
export type EventDefaults = Required<Pick<EventAttributes, 'id' | 'source' | 'type' | 'time'>>;

/** Attribute or member of an event with its problem. */
export interface EventProblem {
  field: string;
  problem: string;
}

/** Problems reported per event, which can have thousands. */
const MOST_PROBLEMS = 20;

export function invalidEvent(problems: readonly EventProblem[]): MayflyError {
  const fields = problems.slice(0, MOST_PROBLEMS);
  const said = fields.map(({ field, problem }) => `${JSON.stringify(field)} ${problem}`).join('; ');
  return new MayflyError('invalid_event', `The event is not valid: ${said}.`, { fields });
}
