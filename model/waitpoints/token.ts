import { sha256Hex } from '../digest.ts';

/** `mfw_`, the waitpoint's id without `wp-`, and 256 random bits in base64url: a prefix for secret scanners. */
const TOKEN = /^mfw_([0-9a-hjkmnp-tv-z]{16})_([A-Za-z0-9_-]{43})$/;
/** Length of `wp-`. */
const PREFIX_LENGTH = 3;

export const WAITPOINT_TOKEN_PATTERN = TOKEN.source;

/** @param secret 256 random bits in base64url */
export function formatToken(waitpointId: string, secret: string): string {
  return `mfw_${waitpointId.slice(PREFIX_LENGTH)}_${secret}`;
}

/** Null: not a token. */
export function parseToken(token: string): { waitpointId: string; hash: string } | null {
  const [, id, secret] = TOKEN.exec(token) ?? [];
  return id === undefined || secret === undefined ? null : { waitpointId: `wp-${id}`, hash: hashSecret(secret) };
}

/** Returns SHA-256 in hex; a fast hash suffices for 256 random bits. */
export function hashSecret(secret: string): string {
  return sha256Hex(secret);
}
