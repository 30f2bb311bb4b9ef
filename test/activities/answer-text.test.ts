import { expect, it } from 'vitest';
import { answerText } from '../../activities/webhook/answer-text.ts';

const BARE = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/==';
const KEY = `whsec_${BARE}`;
const BYTES = Buffer.from(BARE, 'base64');

it.each([
  ['as it is', KEY],
  ['without its prefix', BARE],
  ['without its padding', BARE.replaceAll('=', '')],
  ['percent-encoded', encodeURIComponent(KEY)],
  ['bare and percent-encoded', encodeURIComponent(BARE)],
  ['its bytes in hex', BYTES.toString('hex')],
  ['its bytes in HEX', BYTES.toString('hex').toUpperCase()],
  ['its bytes in base64url', BYTES.toString('base64url')],
  ['its text in hex', Buffer.from(KEY).toString('hex')],
  ['its text in base64', Buffer.from(KEY).toString('base64')],
])('an answer does not show the signing secret: %s', (_form, echoed) => {
  expect(answerText(Buffer.from(`got ${echoed} here`), [{ key: KEY, until: null }])).toMatch(/^got \*\*\* ?here$/);
});
