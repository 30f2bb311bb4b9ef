import type { Connection, Model } from 'mongoose';
import { LIMITS } from '../../model/limits.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, NUMBER, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

const { eventSeconds: EVENT_SECONDS } = LIMITS.mcp;

/** What a session sent on one stream: 0 is its beginning, and says for which request it is. */
export interface McpEvent {
  sessionId: string;
  streamId: string;
  place: number;
  /** A JSON-RPC message; of the beginning the id of the request, `null`: of none. */
  message: unknown;
  /** Of the beginning: when the process that has the request last said so. ISO 8601. */
  at: string;
}

interface EventDocument {
  _id: string;
  sessionId: string;
  place: number;
  message: unknown;
  at: string;
}

/** What can be sent once more on streams that were cut: each event is read by its name, so no index is needed. */
export class McpEvents {
  readonly #model: Model<EventDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('mcpEvents');
    const schema = strictSchema<EventDocument>({
      _id: NAME,
      sessionId: NAME,
      place: NUMBER,
      message: SEALED,
      at: NAME,
    });
    this.#model = connection.model<EventDocument>('McpEvent', schema, 'mcpEvents');
  }

  async append(events: readonly McpEvent[]): Promise<void> {
    const documents = events.map(({ sessionId, streamId, place, message, at }) => {
      const _id = nameOf(streamId, place);
      return this.#fields.sealed(_id, { _id, sessionId, place, message, at });
    });
    await reaching('keep events of MCP', () => this.#model.insertMany(documents));
  }

  /** Null: it was not sent yet, or is past, or is another session's. */
  async get(sessionId: string, streamId: string, place: number): Promise<McpEvent | null> {
    const _id = nameOf(streamId, place);
    const found = await reaching('read an event of MCP', () => this.#model.findById(_id).lean<EventDocument>());
    if (found?.sessionId !== sessionId || found.at < instantBefore(EVENT_SECONDS)) return null;
    const { message, at } = this.#fields.opened(found);
    return { sessionId, streamId, place, message, at };
  }

  /** Says that the process which has the request of a stream is alive. */
  async stay(streamId: string, at: string): Promise<void> {
    await reaching('keep a stream of MCP', () => this.#model.updateOne({ _id: nameOf(streamId, 0) }, { $set: { at } }));
  }

  /** Removes those that are past, and says how many they were. */
  async prune(): Promise<number> {
    const past = { at: { $lt: instantBefore(EVENT_SECONDS) } };
    return reaching('prune events of MCP', async () => (await this.#model.deleteMany(past)).deletedCount);
  }
}

function instantBefore(seconds: number): string {
  return new Date(Date.now() - seconds * 1_000).toISOString();
}

function nameOf(streamId: string, place: number): string {
  return `${streamId}.${place}`;
}
