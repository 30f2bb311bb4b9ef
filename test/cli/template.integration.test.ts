import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Template } from '../../client/templates.ts';
import { answerJson, StandIn } from '../client/stand-in.ts';
import { runLine } from './run-line.ts';

let server: StandIn;
beforeAll(async () => {
  server = await StandIn.start();
});
afterAll(() => server.stop());

const ID = 'snp-0123456789abcdef';
const AT = '2026-11-23T20:00:00.000Z';
const template: Template = {
  id: ID,
  project: 'default',
  hostId: 'kvm-1',
  source: 'web 1',
  cpus: 2,
  memoryMib: 512,
  state: 'ready',
  reason: null,
  retryAt: null,
  createdBy: { apiKeyId: 'key', agentId: null },
  createdAt: AT,
  savedAt: AT,
  readyAt: AT,
  wakes: 7,
  lastUsedAt: AT,
  sizeBytes: 90_177_536,
  waitingFor: null,
  updatedAt: AT,
};
const failed: Template = { ...template, state: 'failed', reason: 'settleTemplate: \u001b[2J it hangs', retryAt: AT };

async function run(args: string[], answer: object = template, status = 200) {
  server.answers((_request, response) => answerJson(response, status, answer));
  return { ...(await runLine(server, args)), asked: server.seen[0] };
}

it('makes one of a size on a host, and says what it takes', async () => {
  const { code, out, asked } = await run(['template', 'make', 'web 1', '--memory', '512M', '--host', 'kvm-1']);
  expect(code).toBe(0);
  expect(asked).toMatchObject({ method: 'POST', path: '/v1/templates' });
  expect(JSON.parse(asked?.body ?? '')).toEqual({ source: 'web 1', hostId: 'kvm-1', memoryMib: 512 });
  for (const said of [ID, '2 CPUs, 512 MiB', '86.0 MiB', '7 times']) expect(out).toContain(said);
});

it('waits until it is ready, and ends with 124 when the wait is over first, with 1 when it failed', async () => {
  const building = { ...template, state: 'building' };
  let looks = 0;
  server.answers((_request, response) => answerJson(response, 200, looks++ < 2 ? building : template));
  expect((await runLine(server, ['template', 'make', 'web'])).code).toBe(0);
  expect(server.seen.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
  expect((await run(['template', 'make', 'web', '--wait', '1'], building)).code).toBe(124);
  const { code, out } = await run(['template', 'make', 'web'], failed);
  expect(code).toBe(1);
  expect(out).toContain('it hangs');
  expect(out).not.toContain('\u001b');
});

it('lists, shows and removes', async () => {
  const list = await run(['template', 'list'], { items: [template], nextCursor: null });
  expect([list.code, list.asked?.path]).toEqual([0, '/v1/templates']);
  expect(list.out).toContain('2/512');
  expect((await run(['template', 'show', ID])).asked?.path).toBe(`/v1/templates/${ID}`);
  expect((await run(['template', 'rm', ID], { ...template, state: 'gone' })).code).toBe(0);
  expect((await run(['template', 'rm', ID], { ...template, state: 'removing' })).code).toBe(124);
  const { code, err } = await run(['template', 'show', 'cap-0123456789abcdef']);
  expect([code, err]).toEqual([2, expect.stringContaining('mayfly template list')]);
});

it('a sandbox is asked for as it shall come to its machine, and shows how it did', async () => {
  const problem = { code: 'template_unavailable', status: 409, title: 'x', detail: 'none is ready', retryable: true };
  const { code, err, asked } = await run(['sandbox', 'create', 'web', '--boot', 'template'], problem, 409);
  expect(code).toBe(1);
  expect(JSON.parse(asked?.body ?? '')).toMatchObject({ boot: 'template' });
  expect(err).toContain('mayfly template make');
});
