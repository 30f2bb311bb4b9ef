import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Capture } from '../../client/captures.ts';
import { answerJson, StandIn } from '../client/stand-in.ts';
import { runLine } from './run-line.ts';

let server: StandIn;
beforeAll(async () => {
  server = await StandIn.start();
});
afterAll(() => server.stop());

const ID = 'cap-0123456789abcdef';
const capture: Capture = {
  id: ID,
  project: 'default',
  projects: ['default'],
  allowedEgress: 'none',
  hostId: 'kvm-1',
  source: 'web 1\u001b[2J',
  state: 'ready',
  createdBy: { apiKeyId: 'key', agentId: null },
  createdAt: '2026-11-21T20:00:00.000Z',
  readyAt: '2026-11-21T20:00:09.000Z',
  saved: {
    disks: [{ target: 'vda', sha256: 'a'.repeat(64), virtualBytes: 8_589_934_592, storedBytes: 4_194_304 }],
    sizeBytes: 4_194_304,
    quiesced: false,
    capturedAt: '2026-11-21T20:00:01.000Z',
    parentId: null,
    fullBecause: 'a disk of the source is not qcow2',
  },
  failure: null,
  waitingFor: null,
};

async function run(args: string[], answer: object = capture, status = 200) {
  server.answers((_request, response) => answerJson(response, status, answer));
  return { ...(await runLine(server, args)), asked: server.seen[0] };
}

it('captures a source, and says what was copied and why all of it', async () => {
  const { code, out, asked } = await run(['capture', 'create', 'web 1', '--host', 'kvm-1', '--wait', '7']);
  expect(code).toBe(0);
  expect(asked).toMatchObject({ method: 'POST', path: '/v1/sources/web%201/captures', body: '{"hostId":"kvm-1"}' });
  expect(asked?.headers['prefer']).toBe('wait=7');
  expect(out).toContain('not frozen: as after a power cut');
  expect(out).toContain('all: a disk of the source is not qcow2');
  expect(out).toContain('4.0 MiB');
  expect(out).not.toContain('\u001b');
});

it('ends with 124 when the wait is over first, and with 1 when it failed', async () => {
  expect((await run(['capture', 'create', 'web'], { ...capture, state: 'creating', saved: null })).code).toBe(124);
  expect((await run(['capture', 'delete', ID], { ...capture, state: 'deleting' })).code).toBe(124);
  const problem = { code: 'capture_in_use', status: 409, title: 'x', detail: 'sandbox refers to it', retryable: false };
  const { code, err } = await run(['capture', 'delete', ID], problem, 409);
  expect(code).toBe(1);
  expect(err).toContain('sandbox refers to it');
});

it('lists and shows, refuses what is no id, and names a capture for a sandbox', async () => {
  const listed = await run(['capture', 'list', 'web'], { items: [capture], nextCursor: null });
  expect(listed.out).toContain(`${ID}  ready  kvm-1`);
  expect((await run(['capture', 'get', ID])).out).toContain(`sha256 ${'a'.repeat(64)}`);
  expect((await run(['capture', 'get', 'cap-x'])).code).toBe(2);
  const created = await run(['sandbox', 'create', 'web', '--capture', 'cap-x']);
  expect(created.code).toBe(2);
});
