import { z } from 'zod';
import { encryptedField, instant } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

const mcpSession = z.object({
  id: z.string(),
  apiKeyId: z.string(),
  project: z.string(),
  opening: encryptedField(z.unknown()).describe('The parameters of its `initialize`'),
  usedAt: instant.describe('Written once a minute while it is used'),
});
/** Session of MCP 2025-11-25: its owner and its `initialize`, so that every API process can continue it. */
export type McpSession = z.infer<typeof mcpSession>;

/** Sessions of all API processes. */
export class McpSessions extends recordRepositoryOf({
  collection: 'mcpSessions',
  noun: 'a session of MCP',
  isId: () => true,
  model: mcpSession,
}) {
  /**
   * Opens a session; a project above its limit loses the least recently used ones.
   * @param atMost limit of a project
   * @returns ids of the closed ones
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

  /** Removes sessions that were unused for too long. @returns number removed */
  prune(): Promise<number> {
    const before = new Date(Date.now() - LIMITS.mcp.idleSeconds * 1_000).toISOString();
    return this.deleteAll({ usedAt: { $lt: before } });
  }
}
