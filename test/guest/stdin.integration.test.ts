import { randomBytes } from 'node:crypto';
import { constants } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AgentProcess, type Answer } from './agent-process.ts';
import { begin, follow, outputOf, run } from './command-client.ts';

let agent: AgentProcess;

beforeAll(async () => {
  agent = await AgentProcess.start();
});
afterAll(() => agent.stop());

function give(id: string, offset: number, bytes: Buffer | string, query = ''): Promise<Answer> {
  return agent.request('POST', `/v1/commands/${id}/stdin?offset=${offset}${query}`, Buffer.from(bytes));
}

const said = (answer: Answer): unknown => JSON.parse(answer.body.toString());

test('the input of the request, then the end', async () => {
  expect((await run(agent, { argv: ['cat'], stdin: 'a\nb' })).stdout.toString()).toBe('a\nb');
  expect((await run(agent, { argv: ['cat'] })).stdout.toString()).toBe('');
});

test('pieces at offsets from the first byte of the request; a wrong offset changes nothing', async () => {
  const id = await begin(agent, { argv: ['cat'], stdin: 'one', stdinOpen: true });
  expect(said(await give(id, 3, 'two'))).toEqual({ offset: 6 });
  const repeated = await give(id, 3, 'two');
  expect([repeated.status, said(repeated)]).toEqual([
    409,
    expect.objectContaining({ code: 'stdin_conflict', offset: 6 }),
  ]);
  expect((await give(id, 7, 'x')).status).toBe(409);
  expect(said(await give(id, 6, 'three', '&close=true'))).toEqual({ offset: 11 });
  const late = await give(id, 11, 'x');
  expect(late.status).toBe(409);
  expect((await outputOf(agent, id)).stdout.toString()).toBe('onetwothree');
  expect(said(await give(id, 11, 'x'))).toMatchObject({ code: 'command_ended' });
});

test('only one of two writers at one offset succeeds', async () => {
  const id = await begin(agent, { argv: ['cat'], stdinOpen: true });
  const answers = await Promise.all(['aaaa', 'bbbb', 'cccc'].map((text) => give(id, 0, text)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(2);
  await give(id, 4, '', '&close=true');
  expect((await outputOf(agent, id)).stdout.toString()).toMatch(/^(aaaa|bbbb|cccc)$/);
});

test('a megabyte through a command that reads slowly', async () => {
  const bytes = randomBytes(1_048_576);
  const id = await begin(agent, { argv: ['sh', '-c', 'sleep 0.3; cat'], stdinOpen: true });
  expect(said(await give(id, 0, bytes, '&close=true'))).toEqual({ offset: bytes.length });
  expect((await outputOf(agent, id)).stdout.equals(bytes)).toBe(true);
});

test('a writer that gives up leaves the offset after the accepted bytes', async () => {
  const id = await begin(agent, { argv: ['cat'], stdinOpen: true });
  const stream = agent.begin('POST', `/v1/commands/${id}/stdin?offset=0`, true);
  stream.on('error', () => {});
  stream.write('taken');
  for await (const item of follow(agent, id)) if (!('exit' in item)) break;
  stream.close(constants.NGHTTP2_CANCEL);
  expect(said(await give(id, 99, 'x'))).toMatchObject({ code: 'stdin_conflict', offset: 5 });
  await give(id, 5, '', '&close=true');
  expect((await outputOf(agent, id)).stdout.toString()).toBe('taken');
});

test('a command without standard input refuses it', async () => {
  const id = await begin(agent, { argv: ['sleep', '60'] });
  expect(said(await give(id, 0, 'x'))).toMatchObject({ code: 'stdin_conflict' });
  await agent.request('POST', `/v1/commands/${id}/cancel`, Buffer.alloc(0));
  await outputOf(agent, id);
});
