import { signDelivery, verifySignature } from '../../services/webhooks/signing/sign.ts';
import { type Part, Tally } from './part.ts';

interface Stripe {
  webhooks: {
    generateTestHeaderString(options: { payload: string; secret: string; timestamp?: number }): string;
    constructEvent(payload: string, header: string, secret: string): unknown;
  };
}

const SECRET = 'whsec_c3RyaXBlIHRha2VzIHRoZSB0ZXh0';
const OTHER = 'whsec_b3RoZXI';

/** Checks that Mayfly and Stripe's library accept exactly each other's signatures. */
export const stripe: Part = async (materials) => {
  const { webhooks } = new (materials.require('stripe') as new (key: string) => Stripe)('sk_test_none');
  const tally = new Tally();
  const now = Date.now();
  const seconds = Math.floor(now / 1000);
  const bodies = ['{"id":"evt_1","object":"event"}', '{ "id":"évt" }\n', '{"id":"\\u00e9vt"}', ''];
  for (const body of bodies) {
    const header = (secret: string, timestamp = seconds) =>
      webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
    const isTaken = (value: string, sent = body) =>
      verifySignature({ scheme: 'stripe' }, [SECRET], {
        headers: [['stripe-signature', value]],
        body: Buffer.from(sent),
        now,
      }).verified;
    const name = JSON.stringify(body);
    tally.count(`${name} by Stripe`, isTaken(header(SECRET)));
    tally.count(`${name} of another secret`, !isTaken(header(OTHER)));
    tally.count(`${name} changed`, !isTaken(header(SECRET), `${body} `));
    tally.count(`${name} 301 s old`, !isTaken(header(SECRET, seconds - 301)));
    tally.count(`${name} with v0 before it`, isTaken(header(SECRET).replace(',v1=', ',v0=00,v1=')));
    if (body !== '') tally.count(`${name} by us`, isTakenByStripe(webhooks, body, now));
  }
  return tally;
};

function isTakenByStripe(webhooks: Stripe['webhooks'], body: string, now: number): boolean {
  const [header] = signDelivery({ scheme: 'stripe' }, [SECRET], { id: 'evt_1', body: Buffer.from(body), now });
  try {
    return header !== undefined && webhooks.constructEvent(body, header[1], SECRET) !== undefined;
  } catch {
    return false;
  }
}
