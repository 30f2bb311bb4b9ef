import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AddressPolicy } from '../../../../services/webhooks/sending/address-policy.ts';
import { post, retryAfterOf } from '../../../../services/webhooks/sending/post.ts';
import {
  type Answering,
  answers,
  answersEndlessly,
  drips,
  endsEarly,
  WebhookReceiver,
} from '../../../support/webhook-receiver.ts';

let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await WebhookReceiver.open();
});
afterAll(() => receiver.close());

const policy = new AddressPolicy(['127.0.0.0/8']);
const body = Buffer.from('{"a":1}');
const sent = (url: string, timeoutMs = 20_000) => post({ url, headers: { 'x-a': 'b' }, body }, { policy, timeoutMs });

it('a request is sent unchanged, to the host of its URL', async () => {
  const outcome = await sent(receiver.at('/a?b=c', answers(201, {}, 'thanks')));
  expect(outcome).toMatchObject({ isTaken: true, status: 201, reason: null });
  expect(Buffer.from(outcome.answer).toString()).toBe('thanks');
  expect(receiver.to('/a?b=c')).toMatchObject([
    { body: '{"a":1}', headers: { host: `127.0.0.1:${receiver.port}`, 'x-a': 'b', 'content-length': '7' } },
  ]);
});

describe('an attempt fails on (cases 41 and 43)', () => {
  it.each<[string, Answering, RegExp, number?]>([
    ['a redirect', answers(302, { Location: 'http://169.254.169.254/' }), /^it answered with 302, and redirects/],
    ['a permanent one', answers(308, { Location: '/elsewhere' }), /^it answered with 308, and redirects/],
    ['a failure', answers(500), /^it answered with 500$/],
    ['not modified', answers(304), /^it answered with 304/],
    ['an answer that does not end', answersEndlessly, /^it answered with more than 65536 bytes$/],
    ['one that ends early', endsEarly, /^it closed the connection before its answer was whole$/],
    ['none at all', () => {}, /^it took longer than 0.3 s$/, 300],
    ['one that drips', drips, /^it took longer than 0.3 s$/, 300],
    ['a closed connection', (response) => void response.destroy(), /socket hang up/],
    [
      'a head that is too large',
      answers(200, { 'x-large': 'x'.repeat(20_000) }),
      /HPE_HEADER_OVERFLOW|Header overflow/i,
    ],
  ])('%s', async (title, answering, reason, timeoutMs) => {
    const path = `/${title.replaceAll(' ', '-')}`;
    const outcome = await sent(receiver.at(path, answering), timeoutMs);
    expect(outcome).toMatchObject({ isTaken: false, reason: expect.stringMatching(reason) });
    expect(receiver.to(path)).toHaveLength(1);
    expect(outcome.answer.length).toBeLessThanOrEqual(1_024);
    expect(receiver.to('/elsewhere')).toEqual([]);
  });

  it('a peer without TLS or HTTP, or none', async () => {
    const { port } = receiver;
    expect(await sent(`https://127.0.0.1:${port}/`)).toMatchObject({ isTaken: false, status: null });
    const silent = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('SSH-2.0-x\r\n'),
    );
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const other = typeof address === 'object' ? address?.port : 0;
    expect(await sent(`http://127.0.0.1:${other}/`)).toMatchObject({ isTaken: false, status: null });
    await new Promise((resolve) => silent.close(resolve));
    expect((await sent(`http://127.0.0.1:${other}/`)).reason).toContain('ECONNREFUSED');
  });

  it('a name server that never answers', async () => {
    const resolve = () => new Promise<never>(() => {});
    const outcome = await post({ url: 'http://example.com/', headers: {}, body }, { policy, resolve, timeoutMs: 200 });
    expect(outcome).toMatchObject({ isTimeout: true, reason: 'it took longer than 0.2 s' });
  });
});

it.each([
  ['120', 120_000],
  [' 7 ', 7_000],
  ['Wed, 01 Jan 2025 00:01:00 GMT', 60_000],
  ['Wed, 01 Jan 2020 00:00:00 GMT', 0],
  ['-1', null],
  ['soon', null],
  ['1e9', null],
])('Retry-After: %s', (value, ms) => {
  expect(retryAfterOf(value, Date.parse('2025-01-01T00:00:00Z'))).toBe(ms);
});
