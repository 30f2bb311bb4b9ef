import { createHash, createHmac } from 'node:crypto';
import { redact } from '../../model/redaction/redact.ts';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { canonicalJson } from './canonical-json.ts';

/** `previousHash` of the first entry. */
export const GENESIS = '0'.repeat(64);

/** Size above which a detail is stored truncated, bytes: documents of megabytes slow down their whole collection. */
const DETAIL_BYTES = 65_536;
/** Length of the readable beginning of a truncated detail, UTF-16 code units. */
const DETAIL_START = 4_096;

/** Length of a chain and its last hash; `mac` proves that a holder of the key wrote it. */
export interface AuditHead {
  count: number;
  hash: string;
  mac: string;
}

/** End of the entries that were exported and then removed; `mac` proves that a holder of the key wrote it. */
export interface ExpiryMark {
  /** Number of those entries. */
  count: number;
  /** Hash of the last of them. */
  hash: string;
  /** Time of the removal, ISO 8601. */
  at: string;
  mac: string;
}

/**
 * Returns the canonical JSON of an event, redacted; a detail that is too large is replaced by its digest and beginning.
 */
export function toBody(event: AuditEvent): string {
  const shown = redact(event.detail);
  const detail = canonicalJson(shown);
  const bytes = Buffer.byteLength(detail);
  if (bytes <= DETAIL_BYTES) return canonicalJson({ ...event, detail: shown });
  const sha256 = createHash('sha256').update(detail).digest('hex');
  return canonicalJson({ ...event, detail: { cut: true, bytes, sha256, start: detail.slice(0, DETAIL_START) } });
}

/** Computes and verifies the keyed hashes of chains, which cannot be forged without the key. */
export class ChainKey {
  readonly #key: Uint8Array;

  /** @throws RangeError when the key has less than 32 bytes, the size of the hash (RFC 2104 §3) */
  constructor(key: Uint8Array) {
    if (key.length < 32) throw new RangeError('an audit key needs at least 32 bytes');
    this.#key = key;
  }

  entry(sandboxId: string, seq: number, previousHash: string, body: string): AuditEntry {
    return { sandboxId, seq, body, previousHash, hash: this.hash(sandboxId, seq, previousHash, body) };
  }

  /** Hashes an entry. Only the body may contain a line break, and it comes last: no two inputs give the same bytes. */
  hash(sandboxId: string, seq: number, previousHash: string, body: string): string {
    return this.#hmac(`entry\n${sandboxId}\n${seq}\n${previousHash}\n${body}`);
  }

  isGenuine(entry: AuditEntry): boolean {
    return entry.hash === this.hash(entry.sandboxId, entry.seq, entry.previousHash, entry.body);
  }

  head(sandboxId: string, count: number, hash: string): AuditHead {
    return { count, hash, mac: this.#hmac(`head\n${sandboxId}\n${count}\n${hash}`) };
  }

  isGenuineHead(sandboxId: string, head: AuditHead): boolean {
    return head.mac === this.head(sandboxId, head.count, head.hash).mac;
  }

  expiry(sandboxId: string, { count, hash, at }: Omit<ExpiryMark, 'mac'>): ExpiryMark {
    return { count, hash, at, mac: this.#hmac(`expired\n${sandboxId}\n${count}\n${hash}\n${at}`) };
  }

  isGenuineExpiry(sandboxId: string, expired: ExpiryMark): boolean {
    return expired.mac === this.expiry(sandboxId, expired).mac;
  }

  /** Computes the MAC of a queued event, so that only a holder of the key can have one appended. */
  queued(sandboxId: string, body: string): string {
    return this.#hmac(`queued\n${sandboxId}\n${body}`);
  }

  #hmac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }
}
