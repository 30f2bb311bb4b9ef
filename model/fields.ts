import { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/** Returns the replacement for an encrypted value that cannot be decrypted. */
export type Replacement = (problem: string) => unknown;

/**
 * Fields that the store encrypts, with the replacement for an undecryptable one; null: its record counts as damaged.
 */
export const encryptedTypes = z.registry<{ standIn: Replacement | null }>();

/**
 * Marks a field as encrypted.
 * @param standIn for display-only fields: an undecryptable value does not damage the record
 */
export function encryptedField<T extends z.ZodType>(type: T, standIn: Replacement | null = null): T {
  encryptedTypes.add(type, { standIn });
  return type;
}

/** Encrypted text for display only. */
export function displayText() {
  return encryptedField(z.string(), (problem) => problem);
}

/**
 * Field that may be absent. Its type excludes undefined, like `exactOptional`, which OpenAPI would list as required.
 */
export function optional<T extends z.ZodType>(type: T) {
  return type.optional() as z.ZodType as z.ZodExactOptional<T>;
}

/** ISO 8601. */
export const instant = z.string().meta({ format: 'date-time' });
export const egress = z.enum(['none', 'internet']);
export const network = z.object({
  egress,
  allowed: optional(egress).describe(
    'All that it, and what is forked of it, may ever have: of a capture that does not allow more. Absent: anything',
  ),
});
export const size = z.object({ cpus: z.int(), memoryMib: z.int() });
export const hostRef = z.object({
  hostId: z.string(),
  installationId: z.string().describe("Id in the state folder that the host's worker serves"),
});

export const observer = hostRef.extend({
  kind: z.enum(['libvirt', 'simulated']),
  hostUuid: z
    .string()
    .nullable()
    .describe("libvirt's UUID of the machine, in a simulated host that of `/etc/machine-id`; null where it has none"),
});

/** Principal of a request. Never contains the key itself. */
export const actor = z.object({
  apiKeyId: z.string(),
  agentId: z.string().nullable().describe('For which agent the key acted'),
  project: z.string().describe('Of the key'),
  approvalId: optional(z.string()).describe('By which approval, where one was needed'),
});

/** Any string for a reader of the schema: no answer repeats the table of errors. */
const errorCode = z.string() as z.ZodType<ErrorCode, string>;

/** Failure of a workflow. */
export const stepFailure = z.object({
  code: errorCode,
  step: z.string().min(0).describe('Activity that failed, as the Temporal UI names it'),
  message: displayText(),
});
export const failure = stepFailure.omit({ step: true });

/** Failure for display only, encrypted as a whole. */
export function displayFailure() {
  return encryptedField(stepFailure.omit({ step: true }), (message) => ({ code: 'record_damaged', message }));
}
