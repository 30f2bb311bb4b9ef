import { createHash } from 'node:crypto';
import type { Schema } from 'mongoose';
import { z } from 'zod';
import { isMayflyError } from '../../model/errors.ts';
import { encryptedField } from '../../model/fields.ts';
import type { AuditEntry } from '../../model/sandbox/audit.ts';
import { fieldsOf } from '../mongo/model-fields.ts';
import { NAME, strictSchema, TEXT } from '../mongo/schema.ts';
import { BrokenChain } from '../register/broken-chain.ts';
import type { AuditHead, ExpiryMark } from './audit-chain.ts';

const entryFields = z.object({
  sandboxId: z.string(),
  seq: z.int(),
  body: encryptedField(z.string()),
  hash: z.string(),
  previousHash: z.string(),
  recent: z
    .array(z.string())
    .describe(
      "Short digests of the latest event ids, this one's last: tells a repeated append without reading back. A hint only, what counts is the `eventId` in a body",
    ),
});
/** Entry of a chain; `_id` = `<sandboxId>/<seq>`, so that the unique insert decides who wrote that number. */
export type EntryDocument = z.infer<typeof entryFields> & { _id: string };

/**
 * Head of a sandbox's chain as one string, `<count>.<hash>.<mac>` with the count padded: the greater text is the longer
 * chain, so that `$max` alone keeps a slow writer from setting it back.
 */
export interface HeadDocument {
  _id: string;
  head: string;
  /**
   * End of its sandbox, ISO 8601: present from the removal of the sandbox's record until the removal of the entries.
   */
  endedAt?: string;
  /** End of the entries that were exported and removed: `<count>/<hash>/<at>/<mac>`. */
  expired?: string;
}

/**
 * Entries within which a repeated event is recognised. A killed control worker repeats events that it appended but did
 * not report to Temporal: at most one of each command that runs in the sandbox, of which there are 64.
 */
const RECENT = 128;
const COUNT_DIGITS = 12;
const HEAD = /^(\d{12})\.([0-9a-f]{64})\.([0-9a-f]{64})$/;

const EXPIRED = /^(\d{1,12})\/([0-9a-f]{64})\/([0-9TZ:.-]{24})\/([0-9a-f]{64})$/;

export function entrySchema(): Schema<EntryDocument> {
  return strictSchema<EntryDocument>({ _id: NAME, ...fieldsOf(entryFields.shape) });
}

export function headSchema(): Schema<HeadDocument> {
  return strictSchema<HeadDocument>({ _id: NAME, head: NAME, endedAt: TEXT, expired: TEXT });
}

export function entryId(sandboxId: string, seq: number): string {
  return `${sandboxId}/${seq}`;
}

export function eventDigest(eventId: string): string {
  return createHash('sha256').update(eventId).digest('hex').slice(0, 12);
}

export function recentWith(recent: readonly string[], eventId: string): string[] {
  return [...recent, eventDigest(eventId)].slice(-RECENT);
}

export function headText(head: AuditHead): string {
  return `${String(head.count).padStart(COUNT_DIGITS, '0')}.${head.hash}.${head.mac}`;
}

/** Returns null for a text that is not a head of our format. */
export function parseHead(text: string): AuditHead | null {
  const [, count, hash, mac] = HEAD.exec(text) ?? [];
  return count && hash && mac ? { count: Number(count), hash, mac } : null;
}

export function expiredText({ count, hash, at, mac }: ExpiryMark): string {
  return `${count}/${hash}/${at}/${mac}`;
}

/** Returns null for a text that is not of our format. */
export function parseExpired(text: string): ExpiryMark | null {
  const [, count, hash, at, mac] = EXPIRED.exec(text) ?? [];
  return count && hash && at && mac ? { count: Number(count), hash, at, mac } : null;
}

export function entryOf({ sandboxId, seq, body, hash, previousHash }: EntryDocument): AuditEntry {
  return { sandboxId, seq, body, hash, previousHash };
}

/** Reads the part of a chain that is needed to continue it. @throws BrokenChain when its key is missing */
export function withBrokenChainOnMissingKey<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (isMayflyError(error, 'payload_key_unusable')) throw new BrokenChain(error.message);
    throw error;
  }
}

/** Returns the event id in an entry's body; null when the body is not one of ours. */
export function eventIdOf(body: string): string | null {
  return fieldOf(body, 'eventId');
}

/** Returns the kind of the event in a body; null when the body is not one of ours. */
export function kindOf(body: string): string | null {
  return fieldOf(body, 'kind');
}

function fieldOf(body: string, name: 'eventId' | 'kind'): string | null {
  try {
    const event: unknown = JSON.parse(body);
    const value = typeof event === 'object' && event !== null ? (event as Record<string, unknown>)[name] : null;
    return typeof value === 'string' ? value : null;
  } catch {
    return null; // an edited body need not be JSON; its hash reveals the edit
  }
}
