import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { signBasic, signBearer } from './authorization.ts';
import type { Delivery } from './delivery.ts';
import { signGithub, signHmac } from './hmac.ts';
import { secretProblem } from './secret.ts';
import type { Header } from './signed-request.ts';
import { signStandardWebhook } from './standard-webhooks.ts';
import { signStripe } from './stripe.ts';

/**
 * The headers with which a delivery is sent, names in lower case.
 * @param secrets standard-webhooks and stripe sign with each, so that both are taken while one is rotated; all others with
 *   the first
 * @throws TypeError when a secret is none of the scheme, or cannot sign; it does not quote it
 * @throws RangeError when the id is none of Standard Webhooks
 */
export function signDelivery(
  scheme: SignatureScheme,
  secrets: readonly [string, ...string[]],
  delivery: Delivery,
): Header[] {
  for (const secret of secrets) {
    const problem = secretProblem(scheme, secret);
    if (problem !== null) throw new TypeError(`The secret ${problem}.`);
  }
  const [first] = secrets;
  switch (scheme.scheme) {
    case 'standard-webhooks':
      return signStandardWebhook(secrets, delivery);
    case 'github':
      return signGithub(first, delivery);
    case 'stripe':
      return signStripe(secrets, delivery);
    case 'hmac':
      return signHmac(scheme, first, delivery);
    case 'bearer':
      return signBearer(first);
    case 'basic':
      return signBasic(first);
  }
}
