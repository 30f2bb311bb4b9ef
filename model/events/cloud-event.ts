import { MayflyError } from '../errors.ts';

/** A String, an Integer of 32 bits or a Boolean. What comes in a header is a String: nothing tells of which type it was. */
export type AttributeValue = string | number | boolean;

/** The context attributes of an event (CloudEvents 1.0.2). */
export interface EventAttributes {
  specversion: '1.0';
  id: string;
  /** URI-reference. */
  source: string;
  type: string;
  /** RFC 3339, as it was written. */
  time?: string;
  subject?: string;
  /** Absolute URI. */
  dataschema?: string;
  /** Media type. `@default` application/json */
  datacontenttype?: string;
  /** Extension attributes by name; there may be none. */
  extensions: Record<string, AttributeValue>;
}

export interface ReceivedEvent {
  attributes: EventAttributes;
  /** The event in the JSON format, UTF-8, without a byte order mark. Numbers and escapes of its data stand as they were sent. */
  json: Uint8Array;
  /** The data when it is JSON, parsed, and as deep as it was sent: JSON.stringify may overflow on it. Undefined: there is none, or it is not JSON. */
  data: unknown;
}

/** What an event is called that came without attributes of its own. */
export type EventDefaults = Required<Pick<EventAttributes, 'id' | 'source' | 'type' | 'time'>>;

/** One attribute or member of an event, and what is wrong with it. */
export interface EventProblem {
  field: string;
  problem: string;
}

/** So many are told of: an event can have thousands. */
const MOST_PROBLEMS = 20;

export function invalidEvent(problems: readonly EventProblem[]): MayflyError {
  const fields = problems.slice(0, MOST_PROBLEMS);
  const said = fields.map(({ field, problem }) => `${JSON.stringify(field)} ${problem}`).join('; ');
  return new MayflyError('invalid_event', `The event is not valid: ${said}.`, { fields });
}
