import { z } from 'zod';
import type { HookFilter } from '../events/hook-filter.ts';
import { actor, encryptedField, instant } from '../fields.ts';
import type { SignatureScheme } from './signature-scheme.ts';

/** Entry point for signed external events to one function. */
export const hookRecord = z.object({
  id: z.string(),
  project: z.string(),
  function: z.string(),
  scheme: z.custom<SignatureScheme>().describe('How a sender shows who it is'),
  secrets: encryptedField(z.array(z.string())).describe('One; two while it is rotated'),
  filter: encryptedField(z.custom<HookFilter>()).nullable().describe('Null: all events are run'),
  allowedOrigins: z
    .array(z.string())
    .describe('Who may ask by OPTIONS whether events may be sent, as CloudEvents has it; `*`: anybody'),
  disabledAt: instant.nullable().describe('Null: it takes events'),
  createdBy: actor,
  createdAt: instant,
});
export type HookRecord = z.infer<typeof hookRecord>;
