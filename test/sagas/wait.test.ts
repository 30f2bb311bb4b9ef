import { type Client, ServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { repeatLongPoll } from '../../temporal/call/wait.ts';

const client = { withDeadline: (_deadline: number, call: () => Promise<unknown>) => call() } as unknown as Client;
const lost = () => {
  const cause = Object.assign(new Error('http2 error'), { code: 14, details: '', metadata: {} });
  return new ServiceError('Workflow Update failed', { cause });
};
const late = () => Object.assign(new Error('deadline'), { code: 4, details: '', metadata: {} });

function waitWith(answers: (Error | string)[]): Promise<string> {
  const call = async () => {
    const answer = answers.shift() ?? 'end of the list';
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return repeatLongPoll(client, new AbortController().signal, call);
}

test('a poll lost with its connection is repeated, also after later rounds', async () => {
  expect(await waitWith([lost(), late(), lost(), 'settled'])).toBe('settled');
});

test('a second consecutive lost poll is an error', async () => {
  await expect(waitWith([late(), lost(), lost(), 'settled'])).rejects.toThrow('Workflow Update failed');
});
