import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Approval } from '../../clients/typescript/http/openapi.ts';
import { answerOf, sandboxRecord } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { askedBy, runLine } from './run-line.ts';

const DIGEST = '0123456789abcdef'.repeat(4);
const ID = 'apr-0123456789abcdef';
const HIDDEN = 'ls\nrm -rf /\u202e#\u001b[2Jx\u200b\u00a0y';
const APPROVAL = answerOf<Approval>('getApproval', {
  id: ID,
  request: { command: HIDDEN, user: null, envNames: [] },
  digest: DIGEST,
  askedBy: { apiKeyId: '0123456789ab', agentId: 'bot\u001b[1m', project: 'default' },
});

const server = useStandIn();
const folder = useFolder();

const cli = (args: string[], body: object = APPROVAL) => askedBy(server, args, body);

// Guards: a person sees the whole request, and decides on exactly that. Costs nothing.
describe('mayfly approval', () => {
  it.each([['show', ID], ['list']])('%s shows hidden characters of a command (case 10)', async (...args) => {
    const { out } = await cli(
      ['approval', ...args],
      args[0] === 'list' ? { items: [APPROVAL], nextCursor: null } : APPROVAL,
    );
    expect(out).toContain(String.raw`ls\nrm -rf /\u202e#\u001b[2Jx\u200b\u00a0y`);
    expect(out).toContain(String.raw`bot\u001b[1m`);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('follows approval requests until Ctrl-C, one line each, with hidden characters visible', async () => {
    const controller = new AbortController();
    const told = JSON.stringify(APPROVAL);
    server.answers((_request, response, before) => {
      if (before > 0) return controller.abort();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(`id: 2026-01-01T00:00:00.000Z\nevent: approval\ndata: ${told}\n\n`);
    });
    const { code, out } = await runLine(server, ['approval', 'watch', '--project', 'own'], { controller });
    expect([code, server.seen[0]?.path]).toEqual([130, '/v1/approvals/events?project=own']);
    expect(server.seen[1]?.headers['last-event-id']).toBe('2026-01-01T00:00:00.000Z');
    expect(out.split('\n')).toEqual([expect.stringContaining(String.raw`ls\nrm -rf /\u202e#\u001b[2Jx`), '']);
  });

  it('decides on the displayed request, identified by its digest', async () => {
    const line = ['approval', 'approve', ID, '--digest', DIGEST.slice(0, 12), '--reason', 'it is needed'];
    expect((await cli(line)).code).toBe(0);
    const [, decided] = server.seen;
    expect(decided?.path).toBe(`/v1/approvals/${ID}/approve`);
    expect(JSON.parse(decided?.body ?? '')).toEqual({ digest: DIGEST, reason: 'it is needed' });
    expect((await cli(['approval', 'refuse', ID, '--digest', 'f'.repeat(12)])).code).toBe(1);
    expect(server.seen.map(({ method }) => method)).toEqual(['GET']);
    expect((await cli(['approval', 'approve', ID, '--digest', 'f'])).code).toBe(2);
    expect((await cli(['approval', 'approve', ID])).code).toBe(2);
    expect((await cli(['approval', 'approve', 'sbx-1', '--digest', DIGEST])).code).toBe(2);
  });

  it('lists pending ones, or all with --all', async () => {
    const none = { items: [], nextCursor: null };
    expect((await cli(['approval', 'list'], none)).asked).toContain('state=awaiting-approval');
    expect((await cli(['approval', 'list', '--all'], none)).asked).not.toContain('state=');
    expect((await cli(['approval', 'withdraw', ID])).asked).toContain(`POST /v1/approvals/${ID}/withdraw`);
  });

  it('sets a policy from a file, with the version it replaces', async () => {
    const file = join(folder, 'policy.yaml');
    await writeFile(file, 'rules:\n  - { name: a, when: { egress: internet }, effect: ask }\n');
    const policy = { project: 'default', version: 4, rules: [], isReadable: true, createdBy: null, createdAt: null };
    const { asked, code } = await cli(['policy', 'set', file, '--version', '3'], policy);
    expect([code, asked]).toEqual([
      0,
      'PUT /v1/policies {"rules":[{"name":"a","when":{"egress":"internet"},"effect":"ask"}]}',
    ]);
    expect(server.seen[0]?.headers['if-match']).toBe('"3"');
    await writeFile(file, 'nothing: here\n');
    expect((await cli(['policy', 'set', file], policy)).code).toBe(2);
    expect((await cli(['policy', 'set', `${file}.gone`], policy)).code).toBe(2);
    expect((await cli(['policy', 'show'], { ...policy, isReadable: false })).out).toContain('denies');
  });
});

// Guards: `run` reports that a command awaits approval, and repeats the request once it is approved. Costs nothing.
describe('a command that needs approval', () => {
  it('waits, retries with the same key, and reports it once', async () => {
    const looks = ['awaiting-approval', 'awaiting-approval', 'approved'];
    server.answers(({ method }, response, count) => {
      if (method === 'POST' && count === 0)
        return answerJson(response, 202, APPROVAL, { location: `/v1/approvals/${ID}` });
      if (method === 'POST') return answerJson(response, 202, sandboxRecord({ state: 'running' }));
      return answerJson(response, 200, { ...APPROVAL, state: looks.shift() });
    });
    const { code, err } = await runLine(server, [
      'sandbox',
      'create',
      'golden',
      '--egress',
      'internet',
      '--wait',
      '0s',
    ]);
    expect(err.match(/Waiting for approval/g)).toHaveLength(1);
    expect(err).toContain(`mayfly approval approve ${ID} --digest 0123456789ab`);
    const posts = server.seen.filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(2);
    expect(posts[0]?.headers['idempotency-key']).toBe(posts[1]?.headers['idempotency-key']);
    expect(code).not.toBe(1);
  });

  it('ends when it is refused', async () => {
    const problem = {
      code: 'approval_refused',
      title: 'It was refused',
      status: 403,
      detail: 'not today',
      retryable: false,
    };
    server.answers(({ method }, response, count) => {
      if (method === 'POST' && count === 0)
        return answerJson(response, 202, APPROVAL, { location: `/v1/approvals/${ID}` });
      if (method === 'POST') return answerJson(response, 403, problem);
      return answerJson(response, 200, { ...APPROVAL, state: 'refused' });
    });
    const { code, err } = await runLine(server, ['sandbox', 'create', 'golden', '--egress', 'internet']);
    expect(err).toContain('not today');
    expect(code).toBe(4);
  });
});
