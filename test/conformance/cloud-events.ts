import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { MayflyError } from '../../model/errors.ts';
import { readBatch } from '../../model/events/batch.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { type EventRequest, readEvent } from '../../model/events/read-event.ts';
import { listen } from '../support/listen.ts';
import { type Part, Tally } from './part.ts';

interface CloudEvent {
  id: string;
  source: string;
  type: string;
  data: unknown;
}
interface Message {
  headers: Record<string, string>;
  body: unknown;
}
interface Sdk {
  CloudEvent: new (event: Record<string, unknown>) => CloudEvent;
  HTTP: {
    binary(event: CloudEvent): Message;
    structured(event: CloudEvent): Message;
    toEvent(message: Message): CloudEvent;
  };
}

const DEFAULTS = { id: 'none', source: '/none', type: 'none', time: '2026-10-01T12:00:00Z' };
const EVENTS: Record<string, unknown>[] = [
  { id: '1', source: '/a', type: 'com.example.plain', data: { n: 1 } },
  {
    id: 'é 2',
    source: 'https://example.com/a?b#c',
    type: 'com.example.ünïcode',
    subject: 'a "quoted" 100 % sûbject',
    data: ['é', '\u2028', '\ud83d\ude00'],
  },
  {
    id: '3',
    source: 'urn:x:y',
    type: 't',
    time: '2026-10-01T12:00:00.123Z',
    dataschema: 'https://example.com/s',
    data: { deep: [[{}]] },
  },
  { id: '4', source: '/a', type: 't', comexampleextension: 'value', comexampleothervalue: 5, data: { n: 1.5 } },
  { id: '5', source: '/a', type: 't', datacontenttype: 'text/plain', data: 'just text, naïve' },
  { id: '6', source: '/a', type: 't' },
];

/** Checks CloudEvents in each mode: Mayfly reads the events of the CloudEvents SDK, and the reverse. */
export const cloudEvents: Part = async (materials) => {
  const { CloudEvent, HTTP } = materials.require('cloudevents') as Sdk;
  const tally = new Tally({
    'é 2 in binary mode': 'the SDK sends it as Latin-1; the HTTP binding (§3.1.3.2) has UTF-8, percent-encoded',
    '4 in binary mode, and back': 'a header has no types: the extension 5 is read as "5"',
  });
  for (const given of EVENTS) {
    const event = new CloudEvent(given);
    for (const mode of ['binary', 'structured'] as const) {
      const name = `${event.id} in ${mode} mode`;
      const message = HTTP[mode](event);
      const received = readOrWhy(await overTheWire(message));
      if (typeof received === 'string') {
        tally.count(name, false, received);
        continue;
      }
      const body = Buffer.from(received.json).toString();
      tally.count(name, isSame(received, event), body);
      const back = HTTP.toEvent({ headers: { 'content-type': 'application/cloudevents+json' }, body });
      const own = HTTP.toEvent(message);
      tally.count(`${name}, and back`, isDeepStrictEqual({ ...back }, { ...own }), JSON.stringify([back, own]));
    }
  }
  const all = EVENTS.map((given) => new CloudEvent(given));
  const items = readBatch(Buffer.from(JSON.stringify(all)));
  for (const [nth, item] of items.entries()) {
    const event = all[nth];
    tally.count(`${event?.id} in a batch`, 'event' in item && event !== undefined && isSame(item.event, event));
  }
  return tally;
};

/** Reads an event. @returns it or the refusal */
function readOrWhy(request: EventRequest): ReceivedEvent | string {
  try {
    return readEvent(request, DEFAULTS);
  } catch (error) {
    if (error instanceof MayflyError) return error.message;
    throw error;
  }
}

function isSame({ attributes, data, json }: ReceivedEvent, event: CloudEvent): boolean {
  const { id, source, type } = attributes;
  const isNamed = id === event.id && source === event.source && type === event.type;
  const given = JSON.stringify(event.data);
  const said = JSON.parse(Buffer.from(json).toString()) as { data?: unknown };
  return isNamed && (JSON.stringify(data) === given || JSON.stringify(said.data) === given);
}

/** Sends a message through a server: names in lower case, one character per byte of a value. */
async function overTheWire({ headers, body }: Message): Promise<EventRequest> {
  const server = createServer();
  const port = await listen(server);
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  const answer = fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text });
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  response.end();
  await answer;
  server.close();
  server.closeAllConnections();
  return { headers: Object.entries(request.headers) as [string, string][], body: Buffer.concat(pieces) };
}
