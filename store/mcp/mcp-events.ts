import { z } from 'zod';
import { encryptedField, instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { repositoryOf } from '../repository/repository.ts';

const { eventSeconds: EVENT_SECONDS } = LIMITS.mcp;

const mcpEvent = z.object({
  sessionId: z.string(),
  place: z.int(),
  message: encryptedField(z.unknown())
    .nullable()
    .describe('A JSON-RPC message; of the beginning the id of the request, `null`: of none'),
  at: instant.describe('Of the beginning: when the process that has the request last said so'),
});
/** Message that a session sent on one stream; number 0 is its start and names its request. */
export type McpEvent = z.infer<typeof mcpEvent> & { streamId: string };

/** Messages that can be resent on interrupted streams. Each is read by its id, so no index is needed. */
export class McpEvents extends repositoryOf({ collection: 'mcpEvents', noun: 'an event of MCP', model: mcpEvent }) {
  async append(events: readonly McpEvent[]): Promise<void> {
    const documents = events.map(({ streamId, ...event }) => {
      const _id = nameOf(streamId, event.place);
      return this.encryption.sealed(_id, { _id, ...event });
    });
    await this.model.insertMany(documents);
  }

  /** Returns null for an event that is not sent yet, has expired, or belongs to another session. */
  async get(sessionId: string, streamId: string, place: number): Promise<McpEvent | null> {
    const [found] = await this.documents({ _id: nameOf(streamId, place) });
    if (found?.sessionId !== sessionId || found.at < instantBefore(EVENT_SECONDS)) return null;
    return { ...this.decrypted(found), streamId };
  }

  /** Records that the process that serves a stream's request is alive. */
  async stay(streamId: string, at: string): Promise<void> {
    await this.set({ _id: nameOf(streamId, 0) }, { at });
  }

  /** Removes expired events. @returns number removed */
  prune(): Promise<number> {
    return this.deleteAll({ at: { $lt: instantBefore(EVENT_SECONDS) } });
  }
}

function instantBefore(seconds: number): string {
  return new Date(Date.now() - seconds * 1_000).toISOString();
}

function nameOf(streamId: string, place: number): string {
  return `${streamId}.${place}`;
}
