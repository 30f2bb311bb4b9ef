import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { signDelivery, verifySignature } from '../../../services/webhooks/signing/sign.ts';
import type { Header } from '../../../services/webhooks/signing/verdict.ts';

const SHARED = fileURLToPath(new URL('../../../../shared/cases/webhook-signatures.json', import.meta.url));
const Case = z.object({ body: z.string(), signature: z.string() });
const Standard = Case.extend({ scheme: z.literal('standard-webhooks'), id: z.string(), timestamp: z.string() });
const Cases = z.object({
  cases: z.array(
    z.union([
      Standard.extend({ version: z.literal('v1'), secret: z.string() }),
      Standard.extend({ version: z.literal('v1a'), publicKey: z.string(), secretKey: z.string() }),
      Case.extend({ scheme: z.literal('github'), secret: z.string() }),
    ]),
  ),
});
const { cases } = Cases.parse(JSON.parse(readFileSync(SHARED, 'utf8')));

/** Checks both directions, for Ed25519 too: its signatures are deterministic (RFC 8032 §5.1.6). */
test.each(cases.map((one, index) => ({ name: `${index + 1}: ${one.scheme}`, one })))(
  '$name is signed and verified',
  ({ one }) => {
    const [signs, verifies] = 'secret' in one ? [one.secret, one.secret] : [one.secretKey, one.publicKey];
    const [id, now] = 'id' in one ? [one.id, Number(one.timestamp) * 1000] : ['d-1', 0];
    const body = Buffer.from(one.body);
    const headers: Header[] =
      'id' in one
        ? [
            ['webhook-id', id],
            ['webhook-timestamp', one.timestamp],
            ['webhook-signature', one.signature],
          ]
        : [
            ['x-github-delivery', id],
            ['x-hub-signature-256', one.signature],
          ];
    const scheme = { scheme: one.scheme };
    expect(signDelivery(scheme, [signs], { id, body, now })).toEqual(headers);
    expect(verifySignature(scheme, [verifies], { headers, body, now })).toEqual({
      verified: true,
      deliveryId: id,
      timestamp: 'id' in one ? Number(one.timestamp) : null,
      secretIndex: 0,
    });
  },
);

/** Guards an error of the specification: its sample signature belongs to another message. */
test('the sample signature of the Standard Webhooks specification does not match its sample message', () => {
  const headers: Header[] = [
    ['webhook-id', 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'],
    ['webhook-timestamp', '1674087231'],
    ['webhook-signature', 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  ];
  const body = Buffer.from(
    '{"type":"contact.created","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81eb52-5198-4599-803e-771906343485"}}',
  );
  const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
  const request = { headers, body, now: 1_674_087_231_000 };
  expect(verifySignature({ scheme: 'standard-webhooks' }, secrets, request)).toMatchObject({ verified: false });
});
