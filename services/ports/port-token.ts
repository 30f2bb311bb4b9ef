import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';

/** Name of the token in a header, a query or a cookie. */
export const TOKEN_NAME = 'mayfly-token';

/** Claims of a token. */
interface PortTokenClaims {
  /** Id in the audit. */
  id: string;
  /** API key that the token was issued for; the token ends with the key. */
  apiKeyId: string;
  /** Seconds since 1970. */
  expires: number;
}

type Signed = Pick<ExposedPort, 'sandboxId' | 'port' | 'secret'>;

/** `mfp_`, claims, and an HMAC of 256 bits. Secret scanners can detect the prefix. */
const TOKEN = /^mfp_([A-Za-z0-9_-]{1,200})\.([A-Za-z0-9_-]{43})$/;
const claims = z.strictObject({ i: z.string(), k: z.string(), e: z.int().min(0) });
const ID_BYTES = 8;
/** Length of the signing secret of a port, bytes. */
const SECRET_BYTES = 32;

export function newPortSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** Issues a bearer token for one port of one sandbox. */
export function issuePortToken(
  port: Signed,
  apiKeyId: string,
  ttlSeconds: number,
): { token: string; claims: PortTokenClaims } {
  const issued = {
    id: randomBytes(ID_BYTES).toString('hex'),
    apiKeyId,
    expires: Math.floor(Date.now() / 1_000) + ttlSeconds,
  };
  const body = { i: issued.id, k: issued.apiKeyId, e: issued.expires };
  const encodedClaims = Buffer.from(JSON.stringify(body)).toString('base64url');
  return { token: `mfp_${encodedClaims}.${signClaims(port, encodedClaims).toString('base64url')}`, claims: issued };
}

/** Returns the claims of a token; null when it is invalid for that port or has expired. */
export function readPortToken(port: Signed, token: string): PortTokenClaims | null {
  const [, said = '', proof = ''] = TOKEN.exec(token) ?? [];
  if (said === '' || !timingSafeEqual(Buffer.from(proof, 'base64url'), signClaims(port, said))) return null;
  const { i: id, k: apiKeyId, e: expires } = claims.parse(JSON.parse(Buffer.from(said, 'base64url').toString('utf8')));
  return expires * 1_000 > Date.now() ? { id, apiKeyId, expires } : null;
}

function signClaims({ sandboxId, port, secret }: Signed, said: string): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(`mayfly-port-token/1/${sandboxId}/${port}/${said}`)
    .digest();
}
