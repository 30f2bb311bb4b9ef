import { readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Run } from '../../clients/typescript/http/openapi.ts';
import { attemptRecord, RUN_ID, runRecord } from '../clients/typescript/records.ts';
import { answerJson, type Seen, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { type LineOptions, runLine } from './run-line.ts';

// `mayfly function invoke|trigger|runs|run|logs|result|cancel` against a stand-in for the API. Two seconds.

const server = useStandIn();
const folder = useFolder();

const line = (args: string[], options?: LineOptions) => runLine(server, ['function', ...args], options);
const asked = ({ method, path }: Seen) => `${method} ${path}`;
const ONE = `/v1/runs/${RUN_ID}`;
const BYTES = Buffer.from([0, 255, 10]);

const preparing = runRecord({ state: 'preparing', cleanup: 'pending', attempts: [attemptRecord({ startedAt: null })] });
const running = runRecord({ state: 'running', cleanup: 'pending', attempts: [attemptRecord()] });
const result = { contentType: 'image/png', bytes: 3, digest: '', partial: false };
const succeeded: Run = { ...running, state: 'ended', outcome: 'succeeded', exitCode: 0, result };
const failure = { code: 'run_failed', message: 'it ended with exit code 7' };
const failed: Run = {
  ...running,
  state: 'ended',
  outcome: 'failed',
  cleanup: 'proved',
  exitCode: 7,
  failure,
  result: null,
};
const problem = (status: number, code: string) => ({ title: 'x', status, code, retryable: false });

interface Printed {
  stdout?: string[];
  stderr?: string[];
}

/**
 * Answers with these states. @param states one per poll, the last repeats @param printed output added per poll, then it
 * ends
 */
function answering(states: readonly Run[], printed: Printed = {}): void {
  let looks = 0;
  server.answers(({ method, path }, response) => {
    const url = new URL(path, 'http://x');
    if (url.pathname === `${ONE}/result`) response.writeHead(200, { 'content-type': 'image/png' }).end(BYTES);
    else if (url.pathname === `${ONE}/output`) answerOutput(url.searchParams, printed, response);
    else if (method === 'POST') answerJson(response, 202, runRecord());
    else answerJson(response, 200, states[Math.min(looks++, states.length - 1)]);
  });
}

function answerOutput(query: URLSearchParams, printed: Printed, response: ServerResponse): void {
  const pieces = printed[query.get('stream') === 'stderr' ? 'stderr' : 'stdout'];
  if (!pieces) {
    answerJson(response, 404, problem(404, 'command_not_found'));
    return;
  }
  const offset = Number(query.get('offset') ?? 0);
  const n = pieces.findIndex((_piece, at) => pieces.slice(0, at).join('').length === offset);
  const piece = pieces[n] ?? '';
  const isLast = n === -1 || n === pieces.length - 1;
  const headers = { 'x-mayfly-next-offset': `${offset + piece.length}`, 'x-mayfly-ended': `${isLast}` };
  response.writeHead(200, headers).end(piece);
}

it('shows an attempt without a start, and the runs it replays or redrives, or is redriven as', async () => {
  const redriven = { ...running, replayOf: 'run-a', redriveOf: 'run-b', redrivenAs: 'run-c' };
  answering([{ ...redriven, attempts: [attemptRecord({ startedAt: null })] }]);
  const { out } = await line(['run', RUN_ID]);
  expect(out).toMatch(/attempt 1 +sbx-\w+ +running\n/);
  for (const said of ['replay of  run-a', 'redrive of run-b', 'redriven   as run-c']) expect(out).toContain(said);
});

it('prints the result, and nothing else, to standard output', async () => {
  answering([running, succeeded]);
  const { code, bytes, err } = await line(['invoke', 'fn', '--data', '{"n":1}']);
  expect([code, [...bytes]]).toEqual([0, [...BYTES]]);
  expect(err.trim().split('\n')).toEqual([RUN_ID, `${RUN_ID} succeeded`]);
  const [first] = server.seen;
  expect(first).toMatchObject({ path: '/v1/functions/fn/runs', body: '{"n":1}' });
  expect(first?.headers).toMatchObject({ 'content-type': 'application/json', prefer: 'wait=0' });
});

it('retries with the same key when the connection is lost, so that it runs once', async () => {
  let isLost = false;
  server.answers(({ method, path }, response) => {
    if (path.endsWith('/result')) return void response.writeHead(200).end('');
    if (method !== 'POST') return answerJson(response, 200, succeeded);
    if (isLost) return answerJson(response, 202, runRecord());
    isLost = true;
    response.destroy();
  });
  expect((await line(['invoke', 'fn'])).code).toBe(0);
  const keys = server.seen.filter(({ method }) => method === 'POST').map(({ headers }) => headers['idempotency-key']);
  expect([keys.length, new Set(keys).size, keys[0]]).toEqual([2, 1, expect.stringMatching(/.{16}/)]);
});

it('prints how to retry without running twice when the API does not answer', async () => {
  server.answers((_request, response) => void response.destroy());
  const { code, err } = await line(['trigger', 'fn', '--key', 'order-7']);
  expect([code, err]).toEqual([5, expect.stringContaining('--key order-7')]);
});

it.each([
  [failed, 1, 'failed: it ended with exit code 7'],
  [{ ...failed, outcome: 'timed-out' as const, failure: null }, 124, 'timed-out'],
  [{ ...failed, outcome: 'expired' as const, failure: null, attempts: [] }, 1, 'expired'],
])('prints the failure of a run and the end of its standard error: %#', async (ended, code, said) => {
  answering([ended], { stderr: [`${'x'.repeat(5_000)}\nthe last line\n`] });
  const run = await line(['invoke', 'fn', '-d', '1']);
  expect([run.code, run.out]).toEqual([code, '']);
  expect(run.err).toContain(`${RUN_ID} ${said}`);
  expect(run.err.includes('the last line')).toBe(ended.attempts.length > 0);
  expect(run.err.length).toBeLessThan(4_500);
});

it('leaves the run alone on Ctrl-C, and prints how to end it', async () => {
  const controller = new AbortController();
  answering([running]);
  const ended = line(['invoke', 'fn'], { controller });
  while (server.seen.length < 3) await new Promise(setImmediate);
  controller.abort(new Error('interrupted'));
  const { code, err } = await ended;
  expect([code, err]).toEqual([130, expect.stringContaining(`mayfly function cancel ${RUN_ID}`)]);
  expect(server.seen.map(asked)).not.toContain(`POST ${ONE}/cancel`);
});

it('starts nothing after a Ctrl-C before the answer', async () => {
  const controller = new AbortController();
  server.answers(() => controller.abort(new Error('interrupted')));
  const { code, err } = await line(['invoke', 'fn'], { controller });
  expect([code, err, server.seen.length]).toEqual([130, expect.stringContaining('mayfly function runs fn'), 1]);
});

it('sends the bytes of a file unchanged, of any media type', async () => {
  const file = join(folder, 'data');
  await writeFile(file, BYTES);
  answering([succeeded]);
  const { code, out } = await line([
    'trigger',
    'fn',
    '--file',
    file,
    '--type',
    'image/png',
    '--delay',
    '10m',
    '--key',
    'k',
  ]);
  expect([code, out]).toEqual([0, `${RUN_ID}\n`]);
  expect(asked(server.seen[0] as Seen)).toBe('POST /v1/functions/fn/runs?delaySeconds=600');
  expect(server.seen[0]?.headers).toMatchObject({ 'content-type': 'image/png', 'idempotency-key': 'k' });
  expect(server.seen[0]?.headers['content-length']).toBe('3');
});

it.each([
  [['invoke', 'fn', '--data', '{'], 'is not JSON'],
  [['invoke', 'fn', '--data', '1', '--file', 'x'], 'exclude each other'],
  [['invoke', 'fn', '-', '--data', '1'], 'exclude each other'],
  [['invoke', 'fn', '{}'], '--data'],
  [['invoke', 'fn', '--file', '/nowhere'], 'there is no file'],
  [['invoke', RUN_ID], `mayfly function run ${RUN_ID}`],
  [['trigger', 'fn', '--delay', 'long'], '--delay'],
  [['runs', 'fn', '--state', 'done'], '--state must be one of'],
  [['runs', 'fn', '--limit', '0'], '--limit'],
  [['result', 'fn'], 'mayfly function runs fn'],
])('refuses %j before any request', async (args, why) => {
  answering([succeeded]);
  const { code, err } = await line(args);
  expect([code, err, server.seen]).toEqual([2, expect.stringContaining(why), []]);
});

it('lists as many runs as requested, over pages', async () => {
  const contents = { input: { n: 1 }, result: 'x'.repeat(60) };
  const items = [{ ...failed, contents }, running];
  server.answers((_request, response) => answerJson(response, 200, { items, nextCursor: 'next' }));
  const { out } = await line(['runs', 'fn', '--state', 'ended', '--outcome', 'failed', '--limit', '4']);
  expect(out.trim().split('\n')).toHaveLength(5);
  expect(out).toMatch(/RESULT\n.*\{"n":1\} +"x{38}…\n/);
  const queries = server.seen.map(({ path }) => Object.fromEntries(new URL(path, 'http://x').searchParams));
  const same = { function: 'fn', state: 'ended', outcome: 'failed', contents: 'true' };
  expect(queries).toEqual([
    { ...same, limit: '4' },
    { ...same, limit: '2', cursor: 'next' },
  ]);
});

it('starts a run for each event of a list, sent as written, and names the refused ones', async () => {
  const items = [
    { status: 202, runId: RUN_ID, isNew: true },
    { status: 200, runId: RUN_ID, isNew: false },
    { status: 422, problem: { code: 'invalid_event', detail: 'it has no id' } },
  ];
  server.answers((_request, response) => answerJson(response, 207, { items }));
  const events = join(folder, 'events.json');
  await writeFile(events, '[{"specversion":"1.0","id":"1","source":"/s","type":"t","data":9007199254740993}]');
  const { code, out } = await line(['batch', 'fn', '--file', events]);
  expect([code, out]).toEqual([1, `${RUN_ID}\n${RUN_ID} known\nrefused: it has no id (invalid_event)\n`]);
  expect(server.seen[0]).toMatchObject({
    path: '/v1/functions/fn/runs:batch',
    headers: expect.objectContaining({ 'content-type': 'application/cloudevents-batch+json' }),
    body: expect.stringContaining('9007199254740993'),
  });
});

it('shows all of a run, with hostile text escaped', async () => {
  const artifacts = [{ path: 'a\u001b[2J.png', bytes: 2_048, digest: '' }];
  answering([{ ...failed, artifacts, cleanup: 'proved' }]);
  const { out } = await line(['run', RUN_ID]);
  for (const said of [
    'fn version 3',
    'exit code 7',
    'nothing of its machines is left',
    'sbx-0123456789abcdef',
    '2.0 KiB',
  ])
    expect(out).toContain(said);
  expect(out).not.toContain('\u001b');
});

it('follows output from its offset, then the next attempt, until the run has ended', async () => {
  const twice = { ...running, attempts: [attemptRecord({ outcome: 'failed' }), attemptRecord({ n: 2 })] };
  answering([preparing, running, running, twice, { ...twice, state: 'ended' }], { stdout: ['one\n', 'two\n'] });
  const { code, out, err } = await line(['logs', RUN_ID, '-f']);
  expect([code, out, err]).toEqual([0, 'one\ntwo\none\ntwo\n', `attempt 2 of ${RUN_ID}\n`]);
  const outputs = server.seen.filter(({ path }) => path.includes('/output')).map(({ path }) => path.split('?')[1]);
  const from = (attempt: number, offset: number) => `stream=stdout&attempt=${attempt}&offset=${offset}`;
  const ofStdout = outputs.filter((query) => query?.startsWith('stream=stdout'));
  expect(ofStdout.slice(0, 2)).toEqual([from(1, 0), from(1, 4)]);
  expect(ofStdout).toContain(from(2, 4));
});

it.each([[[]], [['-f']]])('prints each stream to its own, and standard error alone with --stderr: %j', async (how) => {
  answering([running, succeeded], {
    stdout: ['one\n', 'two\n'].slice(how.length === 0 ? 1 : 0),
    stderr: ['oh\n', 'no\n'],
  });
  const both = await line(['logs', RUN_ID, ...how]);
  const all = how.length > 0 ? ['one\ntwo\n', 'oh\nno\n'] : ['two\n', 'oh\n'];
  expect([both.code, both.out, both.err]).toEqual([0, ...all]);
  const alone = await line(['logs', RUN_ID, '--stderr', ...how]);
  expect([alone.out, alone.err]).toEqual([all[1], '']);
});

it('ends when both streams have ended, not after the first', async () => {
  answering([succeeded], { stdout: [''], stderr: ['a\n', 'b\n', 'c\n'] });
  expect(await line(['logs', RUN_ID, '-f'])).toMatchObject({ code: 0, out: '', err: 'a\nb\nc\n' });
});

it('prints one stream as stored; reports a run without a process', async () => {
  answering([succeeded], { stderr: ['oh\n'] });
  expect((await line(['logs', RUN_ID, '--stderr'])).out).toBe('oh\n');
  const { code, err } = await line(['logs', RUN_ID]);
  expect([code, err]).toEqual([3, expect.stringContaining(`mayfly function run ${RUN_ID}`)]);
  answering([{ ...failed, outcome: 'expired', attempts: [] }]);
  expect(await line(['logs', RUN_ID, '-f'])).toMatchObject({ code: 0, out: '' });
});

it('writes a result to a new file, and never overwrites one', async () => {
  answering([succeeded]);
  const file = join(folder, 'result');
  expect(await line(['result', RUN_ID, '-o', file])).toMatchObject({ code: 0, out: '' });
  expect([...(await readFile(file))]).toEqual([...BYTES]);
  expect((await line(['result', RUN_ID, '-o', file])).code).toBe(2);
  expect([...(await line(['result', RUN_ID])).bytes]).toEqual([...BYTES]);
});

it.each([
  ['proved', 0, 'nothing of its machines is left'],
  ['none', 0, 'nothing is left: it never had a machine'],
  ['unproved', 1, 'a host was forgotten, and nobody can look there'],
] as const)('cancels and waits for the end, with cleanup %s', async (cleanup, code, said) => {
  const cancelled: Run = { ...running, state: 'ended', outcome: 'cancelled' };
  const ended = { ...cancelled, cleanup };
  answering(cleanup === 'none' ? [ended] : [running, cancelled, ended]);
  const told = await line(['cancel', RUN_ID]);
  expect([told.code, told.out]).toEqual([code, `${RUN_ID} cancelled; ${said}\n`]);
  expect(server.seen).toHaveLength(cleanup === 'none' ? 2 : 4);
});

it('lists possible residue when the wait times out', async () => {
  answering([running]);
  const { code, out } = await line(['cancel', RUN_ID, '--wait', '0']);
  expect([code, out]).toEqual([124, expect.stringMatching(/queued|running/)]);
});

it('replays, with changed data sent as written, and redrives', async () => {
  server.answers((_request, response) => answerJson(response, 202, runRecord({ id: 'run-fedcba9876543210' })));
  const file = join(folder, 'event.json');
  await writeFile(file, '{"type":"edited","data":12345678901234567890}');
  for (const more of [[], ['--event', file, '--version', 'current'], ['-d', '1.0', '--key', 'k']]) {
    const { code, out } = await line(['replay', RUN_ID, ...more]);
    expect([code, out]).toEqual([0, 'run-fedcba9876543210\n']);
  }
  expect((await line(['redrive', RUN_ID])).code).toBe(0);
  const posts = server.seen.filter(({ method }) => method === 'POST'); // a wait of the previous test may poll again
  expect(posts.map(({ method, path, body }) => `${method} ${path} ${body}`)).toEqual([
    `POST ${ONE}/replay {"version":"same"}`,
    `POST ${ONE}/replay {"version":"current","event":{"type":"edited","data":12345678901234567890}}`,
    `POST ${ONE}/replay {"version":"same","event":{"data":1.0}}`,
    `POST ${ONE}/redrive?version=current `,
  ]);
  expect(posts[2]?.headers['idempotency-key']).toBe('k');
});

it.each([
  [['--version', 'latest'], 'must be same or current'],
  [['--data', '{"half":'], 'is not JSON'],
  [['--data', '1', '--event', 'x'], 'exclude each other'],
])('refuses to replay with %j', async (more, why) => {
  server.answers((_request, response) => answerJson(response, 202, runRecord()));
  const { code, err } = await line(['replay', RUN_ID, ...more]);
  expect([code, server.seen.length]).toEqual([2, 0]);
  expect(err).toContain(why);
});

it('lists dead letters, also by key and age', async () => {
  server.answers((_request, response) => answerJson(response, 200, { items: [], nextCursor: null }));
  await line(['runs', 'fn', '--dead', '--key', 'a b', '--since', '2h']);
  const asked = new URL(server.seen[0]?.path ?? '', 'http://x').searchParams;
  expect([asked.get('function'), asked.get('deadLetter'), asked.get('key')]).toEqual(['fn', 'true', 'a b']);
  expect(Math.abs(Date.parse(asked.get('since') ?? '') - (Date.now() - 7_200_000))).toBeLessThan(60_000);
});

it('redrives all dead letters of a function, and prints the number refused', async () => {
  const bulk = (done: number, endedAt: string | null) => ({
    id: 'blk-0123456789abcdef',
    action: 'redrive',
    state: endedAt === null ? 'running' : 'succeeded',
    counts: { done, unchanged: 0, refused: 1 },
    refusals: [{ runId: RUN_ID, failure: { code: 'function_gone', message: 'it went' } }],
    endedAt,
  });
  server.answers((_request, response, count) => answerJson(response, 202, bulk(count * 2, count > 1 ? 'now' : null)));
  const { code, out, err } = await line(['redrive', 'fn', '--all']);
  expect([code, out]).toEqual([1, '4 redriven, 1 refused\n']);
  expect(err).toContain(`${RUN_ID}: it went (function_gone)`);
  expect(server.seen.map(asked)).toEqual([
    'POST /v1/functions/fn/bulk',
    'GET /v1/functions/fn/bulk/blk-0123456789abcdef',
    'GET /v1/functions/fn/bulk/blk-0123456789abcdef',
  ]);
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ action: 'redrive', version: 'current' });
});

it('prints why nothing can be opened, and the setting to change', async () => {
  const kept = { snapshotId: 'snp-0123456789abcdef', until: runRecord().updatedAt, goneAt: null, failure: null };
  const why = async (run: Run, ...args: string[]) => {
    answering([run]);
    const { code, err } = await runLine(server, args.length > 0 ? args : ['run', 'open', RUN_ID]);
    return { code, err };
  };
  expect(await why(failed)).toMatchObject({ code: 1, err: expect.stringContaining('"keep": {"onFailure": "disk"}') });
  expect(await why(failed, 'function', 'open', RUN_ID)).toMatchObject({ code: 1 });
  expect((await why(running)).err).toContain('it is running');
  expect((await why({ ...failed, cleanup: 'pending' })).err).toContain('still being saved');
  expect((await why(succeeded)).err).toContain('only what failed or timed out');
  const notKept = { ...kept, snapshotId: null, failure: { code: 'quota_exceeded', message: 'too much is stored' } };
  expect((await why({ ...failed, kept: notKept })).err).toContain('too much is stored');
  expect((await why({ ...failed, kept: { ...kept, goneAt: '2026-01-02T00:00:00.000Z' } })).err).toContain(
    'deleted at 2026-01-02',
  );
  const { code, err } = await why({ ...failed, kept });
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('mayfly fork snp-0123456789abcdef') });
});

it('accepts a sandbox named `open`', async () => {
  server.answers((_request, response) => answerJson(response, 404, problem(404, 'sandbox_not_found')));
  expect((await runLine(server, ['run', 'open', '--', 'ls'])).err).toContain('sandbox');
});

it('lists the changes of a process, and explains when they are unknown', async () => {
  const name = { path: '/root/made\u001b[2J', from: null, what: [], before: null, type: 'file', size: 2, mode: '0644' };
  const change = { line: 'change', change: 'added', ...name, uid: 0, gid: 0, mtime: '', links: 1, target: null };
  const end = { line: 'end', added: 1, changed: 0, removed: 0, renamed: 0 };
  const lines = [change, end].map((each) => `${JSON.stringify(each)}\n`).join('');
  server.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(lines);
  });
  const { code, out } = await runLine(server, ['run', 'diff', RUN_ID]);
  expect({ code, asked: server.seen.map(asked) }).toEqual({ code: 0, asked: [`GET ${ONE}/diff`] });
  expect(out).toMatch(/^A {2}"\/root\/made/);
  expect(out).not.toContain('\u001b[2J');
  expect(out).toContain('1 added, 0 changed, 0 removed, 0 renamed');
  const counts = { added: 1, changed: 0, removed: 0, renamed: 0 };
  answering([{ ...failed, diff: { bytes: 1, digest: '', counts, failure: null } }]);
  expect((await line(['run', RUN_ID])).out).toContain('1 added, 0 changed');
  const why = { code: 'diff_failed', message: 'it is too much' };
  answering([{ ...failed, diff: { bytes: null, digest: null, counts: null, failure: why } }]);
  expect((await line(['run', RUN_ID])).out).toContain('not known: it is too much (diff_failed)');
});
