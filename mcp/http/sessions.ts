import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { ApiKey } from '../../model/access/api-key.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Store } from '../../store/connect.ts';
import type { McpSession } from '../../store/mcp/mcp-sessions.ts';
import { LiveSession, type MakeServer } from './live-session.ts';

const { idleSeconds, sessions: perProject } = LIMITS.mcp;
/** Interval of recording a session's use, and of closing idle sessions, ms. */
const EVERY_MS = 60_000;

interface Deps {
  store: Pick<Store, 'mcpSessions' | 'mcpEvents'>;
  logger: Logger;
}

/**
 * Sessions of clients of 2025-11-25. The store has their owner and `initialize`, so any process can resume one; a
 * running request stays with its process.
 */
export class Sessions {
  readonly #live = new Map<string, Promise<LiveSession>>();

  constructor(private readonly deps: Deps) {
    setInterval(() => void this.#letGo(), EVERY_MS).unref();
  }

  /** Answers an `initialize`, even one with a session id. */
  async open(key: ApiKey, makeServer: MakeServer, request: Request, body: object): Promise<Response> {
    const id = randomBytes(24).toString('base64url');
    const { session, response } = await LiveSession.open(id, makeServer, this.#shared, { request, body });
    if (!response.headers.has('Mcp-Session-Id')) {
      await session.close(); // it was refused
      return response;
    }
    const record = {
      id,
      apiKeyId: key.id,
      project: key.project,
      opening: paramsOf(body),
      usedAt: new Date().toISOString(),
    };
    const lost = await this.deps.store.mcpSessions.open(record, perProject).catch(async (error: unknown) => {
      await session.close();
      throw error;
    });
    this.#live.set(id, Promise.resolve(session));
    for (const one of lost) await this.#drop(one);
    return response;
  }

  /** @returns null when the key has no such session, or it has been idle too long */
  async of(key: ApiKey, id: string, makeServer: MakeServer): Promise<LiveSession | null> {
    const record = await this.deps.store.mcpSessions.get(id);
    if (!record || idleMs(record) > idleSeconds * 1_000) {
      await this.#drop(id);
      return null;
    }
    if (record.apiKeyId !== key.id) return null;
    if (idleMs(record) > EVERY_MS) await this.deps.store.mcpSessions.use(id, new Date().toISOString());
    let live = this.#live.get(id);
    if (!live) {
      live = LiveSession.resume(id, makeServer, this.#shared, record.opening);
      this.#live.set(id, live);
      live.catch(() => this.#live.delete(id));
    }
    return live;
  }

  async close(id: string): Promise<void> {
    await this.deps.store.mcpSessions.close(id);
    await this.#drop(id);
  }

  get #shared() {
    return { events: this.deps.store.mcpEvents, logger: this.deps.logger };
  }

  async #letGo(): Promise<void> {
    for (const [id, coming] of this.#live) {
      const session = await coming.catch(() => null);
      if (!session || (!session.isBusy && Date.now() - session.usedAt > idleSeconds * 1_000)) await this.#drop(id);
    }
  }

  async #drop(id: string): Promise<void> {
    const live = this.#live.get(id);
    this.#live.delete(id);
    const session = await live?.catch(() => null);
    await session?.close();
  }
}

function idleMs({ usedAt }: McpSession): number {
  return Date.now() - Date.parse(usedAt);
}

function paramsOf(body: object): unknown {
  return 'params' in body ? body.params : {};
}
