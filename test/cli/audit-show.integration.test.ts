import { expect, it } from 'vitest';
import { ID } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { runLine } from './run-line.ts';

const server = useStandIn();

function entry(seq: number, kind: string, detail: object) {
  const actor = seq === 0 ? { apiKeyId: 'abc', agentId: 'agent-7' } : null;
  const body = JSON.stringify({ eventId: `e/${seq}`, kind, actor, at: '2026-11-21T10:00:00.000Z', detail });
  return { sandboxId: ID, seq, body, hash: 'h', previousHash: 'p' };
}

it('shows all pages, oldest first, with actors; a hostile detail moves no cursor', async () => {
  server.answers((request, response) => {
    const isFirst = !request.path.includes('cursor=');
    const items = isFirst
      ? [entry(0, 'sandbox.requested', { state: 'requested' })]
      : [entry(1, 'command.requested', { command: '\u001b[2J' })];
    answerJson(response, 200, { items, nextCursor: isFirst ? '1' : null, head: null });
  });
  const { code, out } = await runLine(server, ['audit', 'show', ID]);
  expect(code).toBe(0);
  expect(out).toMatch(/^ENTRY .*\n0 .*sandbox\.requested\s+agent-7\s+"requested"\n1 .*command\.requested\s+-/);
  expect(out).not.toContain('\u001b');
  const json = (await runLine(server, ['audit', 'show', ID, '--json'])).out.trim().split('\n');
  expect(json.map((line) => (JSON.parse(line) as { event: { kind: string } }).event.kind)).toEqual([
    'sandbox.requested',
    'command.requested',
  ]);
});
