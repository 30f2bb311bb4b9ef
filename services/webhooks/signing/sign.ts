import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { signBasic, signBearer, verifyBasic, verifyBearer } from './authorization.ts';
import { signGithub, signHmac, verifyGithub, verifyHmac } from './hmac.ts';
import { secretProblem } from './secret.ts';
import { signStandardWebhook, verifyStandardWebhook } from './standard-webhooks.ts';
import { signStripe, verifyStripe } from './stripe.ts';
import { type Delivery, type Header, type SignedRequest, unverified, type Verdict } from './verdict.ts';

/** Limit of a hook's secrets: the new and the old one during a rotation. */
const MAX_SECRETS = 2;

/**
 * Returns the headers of a delivery, names in lower case.
 * @param secrets standard-webhooks and stripe sign with each, so that receivers accept both during a rotation; the
 *   others with the first
 * @throws TypeError when a secret is invalid for the scheme, or cannot sign; it does not quote it
 * @throws RangeError when the id is invalid for Standard Webhooks
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

/**
 * Reports whether the sender of a request has one of the secrets. Throws for no request, and does bounded work.
 * @param secrets the first {@link MAX_SECRETS} are tried; one with a {@link secretProblem} matches nothing
 */
export function verifySignature(scheme: SignatureScheme, secrets: readonly string[], request: SignedRequest): Verdict {
  const usable = secrets
    .slice(0, MAX_SECRETS)
    .map((secret) => (secretProblem(scheme, secret) === null ? secret : null));
  if (usable.every((secret) => secret === null)) return unverified('there is no secret that can be used');
  switch (scheme.scheme) {
    case 'standard-webhooks':
      return verifyStandardWebhook(usable, request);
    case 'github':
      return verifyGithub(usable, request);
    case 'stripe':
      return verifyStripe(usable, request);
    case 'hmac':
      return verifyHmac(scheme, usable, request);
    case 'bearer':
      return verifyBearer(usable, request);
    case 'basic':
      return verifyBasic(usable, request);
  }
}
