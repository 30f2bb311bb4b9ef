import { spawnSync } from 'node:child_process';
import { signDelivery, verifySignature } from '../../services/webhooks/signing/sign.ts';
import { newSecret } from '../../services/webhooks/signing/standard-key.ts';
import type { Header } from '../../services/webhooks/signing/verdict.ts';
import type { Materials } from './materials.ts';
import { type Part, Tally } from './part.ts';

interface Webhook {
  sign(id: string, time: Date, body: string): string;
  verify(body: string, headers: Record<string, string>): unknown;
}
type WebhookOf = new (secret: string) => Webhook;

const SCHEME = { scheme: 'standard-webhooks' } as const;
const SECRET = newSecret();
const BODY = '{"test": 2432232314, "naïve": "\\u00e9\u2028"}';
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const BODIES = ['{}', BODY, '{"a": 1}\n', '[1e400, "\\ud800"]', `{"long": "${'x'.repeat(20_000)}"}`];

/** Verifies deliveries from standard input with Python's library. */
const PYTHON = `import json, sys
from standardwebhooks.webhooks import Webhook
for one in json.load(sys.stdin):
    try:
        Webhook(one["secret"]).verify(one["body"], one["headers"], json_parse=False)
        print("taken")
    except Exception as error:
        print("refused", type(error).__name__)`;

/** Checks that Mayfly and the reference library agree on signatures, and that those of npm and PyPI accept Mayfly's. */
export const standardWebhooks: Part = async (materials) => {
  const { Webhook } = materials.require('standardwebhooks') as { Webhook: WebhookOf };
  const tally = new Tally({
    'seconds with a fraction': 'the reference takes 1614265330.5; Standard Webhooks has an integer of seconds',
    'a timestamp with text behind it': 'the reference reads it by parseInt',
  });
  const reference = new Webhook(SECRET);
  const now = Date.now();
  for (const [name, headers, body] of variants(reference, now)) {
    const theirs = isTakenBy(reference, body, headers);
    const sent = Object.entries(headers) as Header[];
    const ours = verifySignature(SCHEME, [SECRET], { headers: sent, body: Buffer.from(body), now }).verified;
    tally.count(name, ours === theirs, `we ${said(ours)}, the reference ${said(theirs)}`);
  }
  const deliveries = BODIES.map((body, nth) => {
    const signed = signDelivery(SCHEME, [SECRET], { id: `msg_${nth}`, body: Buffer.from(body), now });
    return { secret: SECRET, body, headers: Object.fromEntries(signed) };
  });
  const python = verdictsOfPython(materials, deliveries);
  for (const [nth, { body, headers }] of deliveries.entries()) {
    tally.count(`body ${nth} by us, npm`, isTakenBy(reference, body, headers));
    tally.count(`body ${nth} by us, PyPI`, python[nth] === 'taken', python[nth]);
  }
  return tally;
};

function variants(reference: Webhook, now: number): [name: string, headers: Record<string, string>, body: string][] {
  const seconds = Math.floor(now / 1000);
  const sign = (at = seconds, id = ID) => reference.sign(id, new Date(at * 1000), BODY);
  const sent = (changes: Record<string, string | undefined>): Record<string, string> =>
    Object.fromEntries(
      Object.entries({
        'webhook-id': ID,
        'webhook-timestamp': String(seconds),
        'webhook-signature': sign(),
        ...changes,
      }).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
  const at = (time: number) => sent({ 'webhook-timestamp': String(time), 'webhook-signature': sign(time) });
  return [
    ['as it should be', sent({}), BODY],
    ['no id', sent({ 'webhook-id': undefined }), BODY],
    ['no timestamp', sent({ 'webhook-timestamp': undefined }), BODY],
    ['no signature', sent({ 'webhook-signature': undefined }), BODY],
    ['an empty signature', sent({ 'webhook-signature': '' }), BODY],
    ['another id', sent({ 'webhook-id': 'msg_other' }), BODY],
    ['another body', sent({}), BODY.replace('1', '2')],
    ['a space behind the body', sent({}), `${BODY} `],
    ['another signature', sent({ 'webhook-signature': sign(seconds, 'msg_other') }), BODY],
    ['no version', sent({ 'webhook-signature': sign().replace('v1,', '') }), BODY],
    ['an unknown version', sent({ 'webhook-signature': sign().replace('v1,', 'v2,') }), BODY],
    ['several, one of them right', sent({ 'webhook-signature': `v1,Ceo5 v2,x ${sign()} v1,` }), BODY],
    ['a time that is no number', sent({ 'webhook-timestamp': 'hello' }), BODY],
    ['too old', at(seconds - 301), BODY],
    ['just not too old', at(seconds - 290), BODY],
    ['too new', at(seconds + 310), BODY],
    ['just not too new', at(seconds + 290), BODY],
    ['milliseconds', at(now), BODY],
    ['seconds with a fraction', sent({ 'webhook-timestamp': `${seconds}.5` }), BODY],
    ['a timestamp with text behind it', sent({ 'webhook-timestamp': `${seconds}abc` }), BODY],
  ];
}

function isTakenBy(reference: Webhook, body: string, headers: Record<string, string>): boolean {
  try {
    reference.verify(body, headers);
    return true;
  } catch (error) {
    // The reference parses the body as JSON only after the signature matches.
    return error instanceof SyntaxError;
  }
}

function verdictsOfPython({ pythonPath }: Materials, deliveries: readonly object[]): string[] {
  const { stdout, status, stderr } = spawnSync('python3', ['-c', PYTHON], {
    input: JSON.stringify(deliveries),
    env: { PATH: process.env['PATH'] ?? '', PYTHONPATH: pythonPath, PYTHONDONTWRITEBYTECODE: '1' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`python3 ended with ${status}: ${stderr}`);
  return stdout.trim().split('\n');
}

function said(isTaken: boolean): string {
  return isTaken ? 'take it' : 'refuse it';
}
