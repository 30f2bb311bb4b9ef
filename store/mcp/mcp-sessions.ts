import { z } from 'zod';
import { encrypted, instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

const mcpSession = z.object({
  id: z.string(),
  apiKeyId: z.string(),
  project: z.string(),
  opening: encrypted(z.unknown()).describe('The parameters of its `initialize`'),
  usedAt: instant.describe('Written once a minute while it is used'),
});
/** A session of MCP 2025-11-25: whose it is, and how it was opened, so that every API process can go on with it. */
export type McpSession = z.infer<typeof mcpSession>;

/** The sessions of all API processes. */
export class McpSessions extends recordRepositoryOf({
  collection: 'mcpSessions',
  noun: 'a session of MCP',
  isId: () => true,
  model: mcpSession,
}) {
  /**
   * Opens one; a project that has its number loses those that were used the longest ago.
   * @param atMost how many sessions a project has
   * @returns the ids of those that it has lost
   */
  async open(session: McpSession, atMost: number): Promise<string[]> {
    if (!(await this.insertRecord(session))) throw new Error(`The session ${session.id} of MCP was opened twice.`);
    const selection = { sort: { usedAt: -1 }, skip: atMost, only: { _id: 1 } } as const;
    const over = await this.documents({ project: session.project }, selection);
    for (const { _id } of over) await this.close(_id);
    return over.map(({ _id }) => _id);
  }

  async use(id: string, usedAt: string): Promise<void> {
    await this.set({ _id: id }, { usedAt });
  }

  async close(id: string): Promise<void> {
    await this.deleteOne({ _id: id });
  }

  /** Removes those that were not used for too long, and says how many they were. */
  prune(): Promise<number> {
    const before = new Date(Date.now() - LIMITS.mcp.idleSeconds * 1_000).toISOString();
    return this.deleteAll({ usedAt: { $lt: before } });
  }
}
