import { createHash } from 'node:crypto';
import type { Schema } from 'mongoose';
import { z } from 'zod';
import { isMayflyError } from '../../model/errors.ts';
import { encrypted } from '../../model/fields.ts';
import type { AuditEntry } from '../../model/sandbox/audit.ts';
import { fieldsOf } from '../mongo/model-fields.ts';
import { NAME, strictSchema, TEXT } from '../mongo/schema.ts';
import { BrokenChain } from '../register/broken-chain.ts';
import type { AuditHead, ExpiredEnd } from './audit-chain.ts';

const entryFields = z.object({
  sandboxId: z.string(),
  seq: z.int(),
  body: encrypted(z.string()),
  hash: z.string(),
  previousHash: z.string(),
  recent: z
    .array(z.string())
    .describe(
      "Short digests of the latest event ids, this one's last: tells a repeated append without reading back. A hint only, what counts is the `eventId` in a body",
    ),
});
/** One entry; `_id` = `<sandboxId>/<seq>`, so that the unique insert settles who wrote that number. */
export type EntryDocument = z.infer<typeof entryFields> & { _id: string };

/**
 * The head of a sandbox's chain as one string, `<count>.<hash>.<mac>` with the count padded: the greater text is the
 * longer chain, so that `$max` alone keeps a slow writer from turning it back.
 */
export interface HeadDocument {
  _id: string;
  head: string;
  /** When its sandbox ended, ISO 8601: only once the sandbox's record is removed, and until the entries are. */
  endedAt?: string;
  /** Up to where entries were exported and removed: `<count>/<hash>/<at>/<mac>`. */
  expired?: string;
}

/**
 * How many entries back a repeated event is recognised. A control worker that was killed repeats what it had appended
 * but not yet told Temporal: at most an event of each command that runs in the sandbox, of which there are 64.
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

/** Null when the text is no head that was ever written by us. */
export function parseHead(text: string): AuditHead | null {
  const [, count, hash, mac] = HEAD.exec(text) ?? [];
  return count && hash && mac ? { count: Number(count), hash, mac } : null;
}

export function expiredText({ count, hash, at, mac }: ExpiredEnd): string {
  return `${count}/${hash}/${at}/${mac}`;
}

/** Null when the text was never written by us. */
export function parseExpired(text: string): ExpiredEnd | null {
  const [, count, hash, at, mac] = EXPIRED.exec(text) ?? [];
  return count && hash && at && mac ? { count: Number(count), hash, at, mac } : null;
}

export function entryOf({ sandboxId, seq, body, hash, previousHash }: EntryDocument): AuditEntry {
  return { sandboxId, seq, body, hash, previousHash };
}

/** What is read of a chain to continue it. Without its key the chain cannot be continued. @throws BrokenChain */
export function unlessLocked<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (isMayflyError(error, 'payload_key_unusable')) throw new BrokenChain(error.message);
    throw error;
  }
}

/** The event id in an entry's body; null when the body is not one of ours. */
export function eventIdOf(body: string): string | null {
  return fieldOf(body, 'eventId');
}

/** What kind of event a body tells of; null when it is not one of ours. */
export function kindOf(body: string): string | null {
  return fieldOf(body, 'kind');
}

function fieldOf(body: string, name: 'eventId' | 'kind'): string | null {
  try {
    const event: unknown = JSON.parse(body);
    const value = typeof event === 'object' && event !== null ? (event as Record<string, unknown>)[name] : null;
    return typeof value === 'string' ? value : null;
  } catch {
    return null; // an edited body need not be JSON; its hash tells on it
  }
}
