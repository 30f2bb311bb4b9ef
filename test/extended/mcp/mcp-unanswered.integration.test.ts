import { afterAll, beforeAll, expect, it } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { asks } from '../../mcp/asks.ts';
import { McpDoor } from '../../mcp/mcp-door.ts';

/** Holds: a client that never answers an elicitation gets the waiting approval in time. A simulated host; 45 s. */
let door: McpDoor;
beforeAll(async () => {
  door = await McpDoor.open();
  const api = new MayflyClient({ baseUrl: door.url, apiKey: door.apiKey });
  await api.approvals.setPolicy([{ name: 'internet', when: { egress: 'internet' }, effect: 'ask' }]);
});
afterAll(() => door.close());

it('an elicitation without an answer in 20 s returns the waiting approval', async () => {
  const { text } = await asks(door, '2025-11-25', { url: {} }, () => new Promise(() => {}));
  expect(text).toContain('waits for approval by');
});

it.each(['2025-11-25', '2026-07-28'] as const)('a user of %s accepts, without a decision', async (revision) => {
  const { text } = await asks(door, revision, { url: {} }, async () => ({ action: 'accept' }));
  expect(text).toMatch(/waits for approval by.*\nNext: tell your user what waits/);
});
