import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { certificateRecord } from '../../model/sandbox/certificate.ts';
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

export const credentialAnswer = certificateRecord.omit({ request: true, runId: true }).openapi('Credential');

export const issuedAnswer = certificateRecord
  .pick({ serial: true, keyId: true, validAfter: true, validBefore: true })
  .extend({
    certificate: z.string().openapi({ description: 'One line; put it beside the key as `<key>-cert.pub`' }),
    principal: z.string(),
    user: z.string(),
    address: z.string(),
    port: z.int(),
    hostKey: z.string().openapi({ description: 'The only host key to accept' }),
    knownHosts: z.string().openapi({ description: 'A line for known_hosts' }),
  })
  .openapi('IssuedCredential');

export const credentialList = z.object({ items: z.array(credentialAnswer), nextCursor: z.null() });
