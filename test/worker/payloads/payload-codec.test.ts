import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { expect, test } from 'vitest';
import { markReadable } from '../../../model/sagas/readable.ts';
import { EncryptedPayloads } from '../../../worker/payloads/payload-codec.ts';
import type { PayloadKey } from '../../../worker/payloads/payload-keys.ts';

const OLD: PayloadKey = { id: 'old', key: randomBytes(32) };
const NEW: PayloadKey = { id: 'new', key: randomBytes(32) };
const SECRET = { command: 'psql --password hunter2' };

const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const one = ([payload]: Payload[]): Payload => payload ?? {};
const bytesOf = (payload: Payload) => Buffer.from(payload.data ?? []);

test('a payload is unreadable without the key, and decrypted with it', async () => {
  const codec = new EncryptedPayloads([NEW]);
  const sent = one(await codec.encode([payloadOf(SECRET)]));
  expect(bytesOf(sent).toString('latin1')).not.toContain('hunter2');
  expect(Object.values(sent.metadata ?? {}).map((each) => Buffer.from(each).toString())).toEqual([
    'binary/encrypted',
    'new',
  ]);
  expect(defaultPayloadConverter.fromPayload(one(await codec.decode([sent])))).toEqual(SECRET);
});

test('equal payloads look different: each has its own nonce', async () => {
  const [first, second] = await new EncryptedPayloads([NEW]).encode([payloadOf(SECRET), payloadOf(SECRET)]);
  expect(first?.data).not.toEqual(second?.data);
});

test('a plaintext payload is refused, unless it is a readable line', async () => {
  const codec = new EncryptedPayloads([NEW]);
  await expect(codec.decode([payloadOf(SECRET)])).rejects.toMatchObject({
    code: 'payload_key_unusable',
    message: expect.stringContaining('is not encrypted'),
  });
  const line = payloadOf(markReadable('sbx-1'));
  expect(await codec.decode([line])).toEqual([line]);
});

test('the first key encrypts, all decrypt: keys can be rotated', async () => {
  const before = await new EncryptedPayloads([OLD]).encode([payloadOf(SECRET)]);
  expect(defaultPayloadConverter.fromPayload(one(await new EncryptedPayloads([NEW, OLD]).decode(before)))).toEqual(
    SECRET,
  );
  const after = await new EncryptedPayloads([NEW, OLD]).encode([payloadOf(SECRET)]);
  await expect(new EncryptedPayloads([OLD]).decode(after)).rejects.toMatchObject({ code: 'payload_key_unusable' });
});

test.each([0, 12, 20, -1])('a payload that was changed at byte %i is refused', async (at) => {
  const codec = new EncryptedPayloads([NEW]);
  const sent = one(await codec.encode([payloadOf(SECRET)]));
  const data = bytesOf(sent);
  const index = at < 0 ? data.length + at : at;
  data[index] = (data[index] ?? 0) ^ 1;
  await expect(codec.decode([{ ...sent, data }])).rejects.toMatchObject({ code: 'payload_key_unusable' });
  await expect(codec.decode([{ ...sent, data: data.subarray(0, 5) }])).rejects.toMatchObject({
    code: 'payload_key_unusable',
  });
});

test("a payload with another key's id is refused", async () => {
  const sent = one(await new EncryptedPayloads([NEW]).encode([payloadOf(SECRET)]));
  const renamed = { ...sent, metadata: { ...sent.metadata, 'encryption-key-id': Buffer.from('old') } };
  const both = new EncryptedPayloads([NEW, { ...NEW, id: 'old' }]);
  await expect(both.decode([renamed])).rejects.toMatchObject({ code: 'payload_key_unusable' });
});

test('a readable line stays in plaintext, and is redacted', async () => {
  const [sent] = await new EncryptedPayloads([NEW]).encode([payloadOf(markReadable('sbx-1 from --password hunter2'))]);
  expect(Buffer.from(sent?.data ?? []).toString()).toContain('sbx-1 from --password [redacted]');
});
