import type { Connection, Model } from 'mongoose';
import { LIMITS } from '../../model/limits.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** A session of MCP 2025-11-25: whose it is, and how it was opened, so that every API process can go on with it. */
export interface McpSession {
  id: string;
  apiKeyId: string;
  project: string;
  /** The parameters of its `initialize`. */
  opening: unknown;
  /** Written once a minute while it is used. ISO 8601. */
  usedAt: string;
}

interface SessionDocument extends Omit<McpSession, 'id'> {
  _id: string;
}

/** The sessions of all API processes. */
export class McpSessions {
  readonly #model: Model<SessionDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('mcpSessions');
    const schema = strictSchema<SessionDocument>({
      _id: NAME,
      apiKeyId: NAME,
      project: NAME,
      opening: SEALED,
      usedAt: NAME,
    });
    this.#model = connection.model<SessionDocument>('McpSession', schema, 'mcpSessions');
  }

  /**
   * Opens one; a project that has its number loses those that were used the longest ago.
   * @param atMost how many sessions a project has
   * @returns the ids of those that it has lost
   */
  async open({ id: _id, ...session }: McpSession, atMost: number): Promise<string[]> {
    const document = this.#fields.sealed(_id, { _id, ...session });
    return reaching('open an MCP session', async () => {
      await this.#model.create(document);
      const filter = { project: session.project };
      const over = await this.#model
        .find(filter, { _id: 1 })
        .sort({ usedAt: -1 })
        .skip(atMost)
        .lean<{ _id: string }[]>();
      for (const { _id: lost } of over) await this.#model.deleteOne({ _id: lost });
      return over.map(({ _id: lost }) => lost);
    });
  }

  async get(id: string): Promise<McpSession | null> {
    const found = await reaching('read an MCP session', () => this.#model.findById(id).lean<SessionDocument>());
    if (!found) return null;
    const { _id, apiKeyId, project, opening, usedAt } = this.#fields.opened(found);
    return { id: _id, apiKeyId, project, opening, usedAt };
  }

  async use(id: string, usedAt: string): Promise<void> {
    await reaching('keep an MCP session', () => this.#model.updateOne({ _id: id }, { $set: { usedAt } }));
  }

  async close(id: string): Promise<void> {
    await reaching('close an MCP session', () => this.#model.deleteOne({ _id: id }));
  }

  /** Removes those that were not used for too long, and says how many they were. */
  async prune(): Promise<number> {
    const before = new Date(Date.now() - LIMITS.mcp.idleSeconds * 1_000).toISOString();
    const past = { usedAt: { $lt: before } };
    return reaching('prune MCP sessions', async () => (await this.#model.deleteMany(past)).deletedCount);
  }
}
