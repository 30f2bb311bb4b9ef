import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { StdinPump } from '../../../cli/command/stdin-pump.ts';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { COMMAND_ID, ID } from '../../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../../clients/typescript/stand-in.ts';

const server = useStandIn();

/** Fake guest that takes `takes[n]` bytes of request n and loses the answer; later requests are taken whole. */
function guest(takes: number[]): { text: () => string; isClosed: Promise<void> } {
  let taken = '';
  let close = () => {};
  const isClosed = new Promise<void>((resolve) => {
    close = resolve;
  });
  server.answers(({ path, body }, response, count) => {
    const { searchParams } = new URL(path, 'http://api');
    if (Number(searchParams.get('offset')) !== taken.length) {
      const detail = `Standard input is at ${taken.length}, not at ${searchParams.get('offset')}.`;
      answerJson(response, 409, { code: 'stdin_conflict', status: 409, detail });
      return;
    }
    taken += body.slice(0, takes[count] ?? body.length);
    if (takes[count] !== undefined) return answerJson(response, 504, { code: 'guest_unreachable', retryable: true });
    answerJson(response, 200, { offset: taken.length });
    if (searchParams.get('close') === 'true') close();
  });
  return { text: () => taken, isClosed };
}

it.each([[[0]], [[3]], [[8]]])("resumes at the guest's offset when an answer is lost after %j bytes", async (takes) => {
  const { text, isClosed } = guest(takes);
  const { commands } = new MayflyClient({ baseUrl: server.url, apiKey: 'k' });
  const pump = new StdinPump(commands, ID, COMMAND_ID, Readable.from([Buffer.from('one two '), Buffer.from('three')]));
  const failed = new Promise((_resolve, reject) => pump.start(reject));
  await Promise.race([isClosed, failed]);
  expect(text()).toBe('one two three');
});
