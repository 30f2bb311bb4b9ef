import { z } from 'zod';
import { instant } from '../fields.ts';

/** DSSE v1 envelope: https://github.com/secure-systems-lab/dsse */
export const envelope = z.object({
  payloadType: z.string(),
  payload: z.string().describe('Base64'),
  signatures: z.array(z.object({ keyid: z.string(), sig: z.string().describe('Base64') })),
});
export type Envelope = z.infer<typeof envelope>;

/** Current or former signing key of receipts. */
export const receiptKey = z.object({
  keyid: z.string().describe('SHA-256 of the key as SubjectPublicKeyInfo in DER, hex'),
  publicKey: z.string().describe('The same in PEM'),
  since: instant,
});
export type ReceiptKey = z.infer<typeof receiptKey>;
