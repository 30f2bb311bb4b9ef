export type Algorithm = 'sha1' | 'sha256' | 'sha512';
export type Encoding = 'hex' | 'base64' | 'base64url';

/** HMAC of the body in a header. */
export interface HmacScheme {
  scheme: 'hmac';
  /** Case-insensitive header name. */
  header: string;
  /** Prefix of the signature, such as `sha256=`; may be empty. */
  prefix: string;
  encoding: Encoding;
  algorithm: Algorithm;
  /** Header with seconds since 1970. If set, `<timestamp>.<body>` is signed. */
  timestampHeader?: string;
}

/**
 * Authentication of a webhook's sender. Its secret: for `standard-webhooks` `whsec_`, `whsk_` or `whpk_` and base64;
 * for `basic` `user:password`; otherwise the text itself.
 */
export type SignatureScheme =
  | { scheme: 'standard-webhooks' }
  | { scheme: 'github' }
  | { scheme: 'stripe' }
  | HmacScheme
  | { scheme: 'bearer' }
  | { scheme: 'basic' };
