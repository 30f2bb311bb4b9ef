import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { CERTIFICATE_PURPOSES } from '../../model/sandbox/certificate-purpose.ts';
import { actor, instant } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

const range = `must be a whole number of seconds from ${LIMITS.certificateSeconds.min} to ${LIMITS.certificateSeconds.max}`;

export const issueCredential = z
  .strictObject({
    publicKey: z.string().max(LIMITS.bodyBytes).openapi({
      description: 'One OpenSSH public key line; the private key stays with you',
      example: 'ssh-ed25519 AAAA… me',
    }),
    ttlSeconds: z
      .int(range)
      .min(LIMITS.certificateSeconds.min, range)
      .max(LIMITS.certificateSeconds.max, range)
      .optional()
      .openapi({ default: LIMITS.certificateSeconds.default }),
  })
  .openapi('IssueCredential');

export const credentialParams = sandboxParams.extend({
  credential: z.string().min(1).max(1_024).openapi({ description: 'Serial, or key id (percent-encoded)' }),
});

export const credentialAnswer = z
  .object({
    serial: z.string().openapi({ description: 'Decimal: 64 bits do not fit a JSON number' }),
    keyId: z.string().openapi({ description: 'What sshd logs at every login' }),
    sandboxId: z.string(),
    purpose: z.enum(CERTIFICATE_PURPOSES),
    actor,
    fingerprint: z.string(),
    signedBy: z.string(),
    validAfter: instant,
    validBefore: instant,
    revokedAt: instant.nullable(),
    revokedBy: actor.nullable(),
    refusedAt: instant.nullable().openapi({ description: 'When the guest was seen to refuse it; null: not known' }),
  })
  .openapi('Credential');

export const issuedAnswer = z
  .object({
    serial: z.string(),
    keyId: z.string(),
    certificate: z.string().openapi({ description: 'One line; put it beside the key as `<key>-cert.pub`' }),
    validAfter: instant,
    validBefore: instant,
    principal: z.string(),
    user: z.string(),
    address: z.string(),
    port: z.int(),
    hostKey: z.string().openapi({ description: 'The only host key to accept' }),
    knownHosts: z.string().openapi({ description: 'A line for known_hosts' }),
  })
  .openapi('IssuedCredential');

export const credentialList = z.object({ items: z.array(credentialAnswer), nextCursor: z.null() });
