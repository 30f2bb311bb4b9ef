import { describe, expect, it } from 'vitest';
import type { Image } from '../../clients/typescript/http/openapi.ts';
import { failure, image } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { askedBy, runLine } from './run-line.ts';

// `mayfly image builds|show|cancel` against a stand-in for the API. A second.

const server = useStandIn();

const PATH = `/v1/images/${image.id}`;
const failed: Image = { ...image, state: 'failed', done: 1, failure: { ...failure, line: null } };
const building: Image = { ...image, state: 'building', done: 1, readyAt: null };

/** Answers requests for the build with these states in order; the last repeats. */
function answers(...states: Image[]): void {
  const rest = [...states];
  server.answers((request, response) => {
    const event = `event: ended\ndata: ${JSON.stringify({ outcome: 'exited', exitCode: 0 })}\n\n`;
    if (request.path.endsWith('/events')) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event);
    else if (request.path.includes('/commands/')) answerJson(response, 200, { outcome: 'exited' });
    else answerJson(response, 200, rest.length > 1 ? rest.shift() : rest[0]);
  });
}

it('mayfly image builds lists the latest', async () => {
  const { code, out, asked } = await askedBy(server, ['image', 'builds'], { items: [failed], nextCursor: null });
  expect([code, asked]).toEqual([0, 'GET /v1/images?limit=200 ']);
  expect(out).toMatch(/img-0123456789abcdef +web +failed +1\/2 +1 /);
});

describe('mayfly image show', () => {
  it('shows the result of each step, and the reason of a failure', async () => {
    const { steps } = image;
    const answer = { ...failed, steps: [...steps.slice(0, 1), { ...steps[1], line: 3, text: 'RUN \u001b[2Jfalse' }] };
    const { code, out } = await askedBy(server, ['image', 'show', image.id], {
      ...answer,
      failure: { ...failure, line: 3 },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}cached +line 2: RUN true$/m);
    expect(out).toMatch(/^ {2}failed +line 3: RUN .*false$/m);
    for (const said of [failure.message, 'why']) expect(out).toContain(said);
    expect(out).not.toContain('\u001b');
  });

  it.each([
    [building, 'running +finish'],
    [{ ...building, state: 'queued' as const }, '- +finish'],
    [failed, '- +finish'],
    [image, 'done +finish'],
  ])('shows a step with its state', async (answer, said) => {
    const { out } = await askedBy(server, ['image', 'show', image.id], answer);
    expect(out).toMatch(new RegExp(`^ {2}${said}$`, 'm'));
  });

  it('--follow prints the output of the steps to the end, and ends with the exit code', async () => {
    answers(building, failed);
    const { code, out, err } = await runLine(server, ['image', 'show', image.id, '--follow', '--json']);
    expect([code, JSON.parse(out)]).toEqual([1, failed]);
    expect(err).toContain('[2/2] finish');
  });

  it('Ctrl-C while following: 130, and the build continues', async () => {
    const controller = new AbortController();
    server.answers((request, response) => {
      if (request.path.includes('/commands/')) controller.abort();
      answerJson(response, 200, building);
    });
    const { code } = await runLine(server, ['image', 'show', image.id, '--follow'], { controller });
    expect([code, server.seen.filter(({ method }) => method !== 'GET')]).toEqual([130, []]);
  });
});

describe('mayfly image cancel', () => {
  it('waits for the end', async () => {
    answers(building, { ...image, state: 'cancelled' });
    const { code, out, err } = await runLine(server, ['image', 'cancel', image.id]);
    expect([code, out, err]).toEqual([0, expect.stringMatching(/state +cancelled/), '']);
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([`POST ${PATH}/cancel`, `GET ${PATH}`]);
  });

  it('reports a build that has already ended', async () => {
    answers(image);
    const { code, err } = await runLine(server, ['image', 'cancel', image.id]);
    expect([code, err]).toEqual([0, `${image.id} was over before\n`]);
  });

  it('ends with 124 when the wait times out', async () => {
    answers(building);
    const { code } = await runLine(server, ['image', 'cancel', image.id, '--wait', '0']);
    expect(code).toBe(124);
  });
});

it.each(['show', 'cancel'])(
  '%s sends no request for an invalid id, and names the command that lists them',
  async (word) => {
    answers(image);
    const { code, err } = await runLine(server, ['image', word, '../x']);
    expect([code, server.seen]).toEqual([2, []]);
    expect(err).toContain('mayfly image builds');
  },
);
