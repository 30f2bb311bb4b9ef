import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';

/** In a header, a query or a cookie. */
export const TOKEN_NAME = 'mayfly-token';

/** What a token says. */
interface PortTokenClaims {
  /** Of which the audit speaks. */
  id: string;
  /** The API key that it was made for; it ends with that. */
  apiKeyId: string;
  /** Seconds since 1970. */
  expires: number;
}

type Signed = Pick<ExposedPort, 'sandboxId' | 'port' | 'secret'>;

/** `mfp_`, what it says, and 256 bits that prove it: a prefix that secret scanners can know. */
const TOKEN = /^mfp_([A-Za-z0-9_-]{1,200})\.([A-Za-z0-9_-]{43})$/;
const claims = z.strictObject({ i: z.string(), k: z.string(), e: z.int().min(0) });
const ID_BYTES = 8;
/** Bytes of what signs the tokens of a port. */
const SECRET_BYTES = 32;

export function newPortSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** Good for one port of one sandbox, whoever has it. */
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
  const said = Buffer.from(JSON.stringify(body)).toString('base64url');
  return { token: `mfp_${said}.${proofOf(port, said).toString('base64url')}`, claims: issued };
}

/** What a token says; null: it is none of that port, or has expired. */
export function readPortToken(port: Signed, token: string): PortTokenClaims | null {
  const [, said = '', proof = ''] = TOKEN.exec(token) ?? [];
  if (said === '' || !timingSafeEqual(Buffer.from(proof, 'base64url'), proofOf(port, said))) return null;
  const { i: id, k: apiKeyId, e: expires } = claims.parse(JSON.parse(Buffer.from(said, 'base64url').toString('utf8')));
  return expires * 1_000 > Date.now() ? { id, apiKeyId, expires } : null;
}

function proofOf({ sandboxId, port, secret }: Signed, said: string): Buffer {
  return createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(`mayfly-port-token/1/${sandboxId}/${port}/${said}`)
    .digest();
}
