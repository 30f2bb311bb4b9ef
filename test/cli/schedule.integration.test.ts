import { beforeEach, expect, it } from 'vitest';
import type { Schedule } from '../../clients/typescript/http/openapi.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { scheduleRecord } from '../store/schedule-records.ts';
import { runLine } from './run-line.ts';

// `mayfly schedule …` against a stand-in for the API. One second.

const at = '2026-03-29T01:00:00.000Z';
const schedule: Schedule = { ...scheduleRecord(), nextAt: at };
const server = useStandIn();
beforeEach(() => server.answers((_request, response) => answerJson(response, 200, schedule)));

const line = (args: string[]) => runLine(server, ['schedule', ...args]);
const seen = () => server.seen.map(({ method, path }) => `${method} ${path}`);

it('creates a schedule from the options', async () => {
  const wish = ['--function', 'fn', '--cron', '30 2 * * *', '--zone', 'Europe/Berlin', '--overlap', 'cancel-other'];
  const more = ['--catchup', '2h', '--jitter', '30s', '--gap', 'run-after', '--pause-on-failure', '--data', '{"n":1}'];
  const { code, out } = await line(['create', 'nightly', ...wish, ...more]);
  expect([code, out, seen()]).toEqual([0, `nightly runs fn next at ${at}\n`, ['PUT /v1/schedules/nightly']]);
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({
    function: 'fn',
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    overlap: 'cancel-other',
    catchupWindowSeconds: 7_200,
    jitterSeconds: 30,
    pauseOnFailure: true,
    dst: { gap: 'run-after' },
    event: { data: { n: 1 } },
  });
});

it.each([
  [['pause', 'nightly'], 'POST /v1/schedules/nightly/pause', 'nightly fires again\n'],
  [['delete', 'nightly'], 'DELETE /v1/schedules/nightly', 'nightly is deleted\n'],
  [['trigger', 'nightly'], 'POST /v1/schedules/nightly/trigger', /mayfly schedule times nightly/],
  [['backfill', 'nightly', '--from', at, '--to', at], 'POST /v1/schedules/nightly/backfill', /runs them/],
  [['show', 'nightly'], 'GET /v1/schedules/nightly', /30 2 \* \* \* in Europe\/Berlin/],
])('%j', async (args, request, text) => {
  const { code, out } = await line(args);
  expect([code, seen()]).toEqual([0, [request]]);
  expect(out).toMatch(text);
});

it('lists next times with their clock changes, and missed ones', async () => {
  const next = { items: [{ at, localTime: '2026-03-29T02:30', dst: 'gap', isRun: false }] };
  server.answers((_request, response) => answerJson(response, 200, next));
  expect((await line(['next', 'nightly', '--count', '1'])).out).toMatch(
    /2026-03-29T02:30 +no +the clocks leave it out/,
  );
  const time = {
    at,
    localTime: at,
    triggerId: null,
    state: 'missed',
    reason: 'overlap',
    detail: null,
    runId: null,
    recordedAt: at,
  };
  server.answers((_request, response) => answerJson(response, 200, { items: [time], nextCursor: null }));
  expect((await line(['missed', 'nightly'])).out).toMatch(/missed: overlap/);
  expect(seen().at(-1)).toContain('/v1/schedules/nightly/times');
});

it('refuses an invalid name, overlap or JSON before any request', async () => {
  for (const args of [
    ['show', 'Nightly'],
    ['trigger', 'nightly', '--overlap', 'terminate'],
    ['create', 'nightly', '--function', 'fn', '--every', '1m', '--data', '{'],
  ]) {
    expect((await line(args)).code).toBe(2);
  }
  expect(seen()).toEqual([]);
});
