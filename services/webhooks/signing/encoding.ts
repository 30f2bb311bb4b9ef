import type { Encoding } from '../../../model/webhooks/signature-scheme.ts';

const HEX = /^(?:[0-9a-f]{2})*$/i;

/**
 * Bytes from their text; null when it is not exactly that, where Node's own decoder leaves out what it does not know. Digits
 * of hex may be of either case, and the padding of base64 may be missing.
 */
export function decode(text: string, encoding: Encoding): Buffer | null {
  if (encoding === 'hex') return HEX.test(text) ? Buffer.from(text, 'hex') : null;
  const bytes = Buffer.from(text, encoding);
  return unpadded(bytes.toString(encoding)) === unpadded(text) ? bytes : null;
}

function unpadded(text: string): string {
  return text.replace(/={1,2}$/, '');
}
