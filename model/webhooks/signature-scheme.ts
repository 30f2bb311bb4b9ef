export type Algorithm = 'sha1' | 'sha256' | 'sha512';
export type Encoding = 'hex' | 'base64' | 'base64url';

/** An HMAC of the body in a header. */
export interface HmacScheme {
  scheme: 'hmac';
  /** Its name, in any case. */
  header: string;
  /** What stands before the signature, such as `sha256=`; may be empty. */
  prefix: string;
  encoding: Encoding;
  algorithm: Algorithm;
  /** Where seconds since 1970 stand. With it, `<timestamp>.<body>` is signed. */
  timestampHeader?: string;
}

/**
 * How the sender of a webhook shows who it is. The secret of each:
 * `standard-webhooks` `whsec_`, `whsk_` or `whpk_` and base64; `basic` `user:password`; of all others the text as it is.
 */
export type SignatureScheme =
  | { scheme: 'standard-webhooks' }
  | { scheme: 'github' }
  | { scheme: 'stripe' }
  | HmacScheme
  | { scheme: 'bearer' }
  | { scheme: 'basic' };
