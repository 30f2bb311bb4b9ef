import { redactText } from '../../model/redaction/redact.ts';
import { Mask } from '../../model/secrets/mask.ts';
import type { EndpointRecord } from '../../model/webhooks/endpoint.ts';
import { KEPT } from '../../services/webhooks/sending/post.ts';

/**
 * Returns an endpoint's answer as text; null: empty. Masks the signing keys in all encodings, since it may echo them.
 */
export function answerText(answer: Uint8Array, secrets: EndpointRecord['secrets']): string | null {
  if (answer.length === 0) return null;
  const text = new TextDecoder()
    .decode(answer)
    .replaceAll(/[\p{Cc}\p{Cs}]/gu, (char) => (/[\n\t]/.test(char) ? char : '\ufffd'));
  const mask = new Mask(secrets.flatMap(({ key }) => partsOf(key)));
  return redactText(mask.bytes(Buffer.from(text), { isCut: answer.length >= KEPT }).toString());
}

/** Returns a key's forms: with its prefix, without, and encodings of its bytes. */
function partsOf(key: string): string[] {
  const bare = key.slice(key.indexOf('_') + 1);
  const bytes = Buffer.from(bare, 'base64');
  const hex = bytes.toString('hex');
  return [key, bare, bare.replace(/=+$/, ''), bytes.toString('base64url'), hex, hex.toUpperCase()];
}
