import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { verifyBasic, verifyBearer } from './authorization.ts';
import { verifyGithub, verifyHmac } from './hmac.ts';
import { secretProblem } from './secret.ts';
import { MAX_SECRETS, type SignedRequest } from './signed-request.ts';
import { verifyStandardWebhook } from './standard-webhooks.ts';
import { verifyStripe } from './stripe.ts';
import { refused, type Verdict } from './verdict.ts';

/**
 * Whether a request was sent by one who has a secret. It throws on nothing that a request may hold, and does bounded work.
 * @param secrets the first {@link MAX_SECRETS} are tried; one in which {@link secretProblem} finds a problem opens nothing
 */
export function verifySignature(scheme: SignatureScheme, secrets: readonly string[], request: SignedRequest): Verdict {
  const usable = secrets
    .slice(0, MAX_SECRETS)
    .map((secret) => (secretProblem(scheme, secret) === null ? secret : null));
  if (usable.every((secret) => secret === null)) return refused('there is no secret that can be used');
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
