import { beforeEach, expect, it } from 'vitest';
import { ID } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { runLine } from './run-line.ts';

const server = useStandIn();

const COMMAND = 'cmd-0123456789abcdef';
const command = { id: COMMAND, sandboxId: ID, state: 'running', outcome: null, spec: { command: 'true', argv: null } };
const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const at = '2026-11-21T10:00:00.000Z';

beforeEach(() => {
  server.answers((request, response) => {
    const [path = '', query = ''] = request.path.split('?');
    if (path.endsWith('/output')) return void response.end(query.includes('stderr') ? 'kept wrong\n' : 'kept right\n');
    if (path.endsWith('/events')) {
      const live = event('output', { stream: 'stdout', at, offset: 0, text: 'live right\n' });
      const wrong = event('output', {
        stream: 'stderr',
        at,
        offset: 0,
        base64: Buffer.from('live wrong\n').toString('base64'),
      });
      return void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(live + wrong + event('ended', {}));
    }
    if (path.endsWith('/commands')) return answerJson(response, 200, { items: [command], nextCursor: null });
    return answerJson(response, 200, command);
  });
});

it('prints the stored output, of the latest command by default', async () => {
  for (const words of [
    ['logs', ID],
    ['logs', ID, COMMAND],
  ]) {
    expect(await runLine(server, words)).toMatchObject({ code: 0, out: 'kept right\n', err: 'kept wrong\n' });
  }
  const paths = server.seen.map(({ path }) => path.split('?')[0]);
  expect(paths).toContain(`/v1/sandboxes/${ID}/commands/${COMMAND}/output`);
});

it('follows with -f until the command has ended', async () => {
  expect(await runLine(server, ['logs', '-f', ID])).toMatchObject({
    code: 0,
    out: 'live right\n',
    err: 'live wrong\n',
  });
  expect(server.seen.every(({ method }) => method === 'GET')).toBe(true);
});

it('reports a sandbox without commands, and refuses an invalid id', async () => {
  server.answers((_request, response) => answerJson(response, 200, { items: [], nextCursor: null }));
  const { code, err } = await runLine(server, ['logs', ID]);
  expect(code).toBe(2);
  expect(err).toContain('mayfly run');
  expect((await runLine(server, ['logs', ID, 'cmd-x'])).code).toBe(2);
});

it('stops watching at Ctrl-C', async () => {
  const controller = new AbortController();
  server.answers((request, response) => {
    if (request.path.includes('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': alive\n\n');
      return controller.abort(new Error('interrupted'));
    }
    return answerJson(response, 200, command);
  });
  expect((await runLine(server, ['logs', '-f', ID, COMMAND], { controller })).code).toBe(130);
  expect(server.seen.every(({ method }) => method === 'GET')).toBe(true);
});
