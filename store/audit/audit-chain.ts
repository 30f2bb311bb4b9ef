import { createHash, createHmac } from 'node:crypto';
import { redact } from '../../model/redaction/redact.ts';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { canonicalJson } from './canonical-json.ts';

/** What the first entry's `previousHash` is. */
export const GENESIS = '0'.repeat(64);

/** A detail that takes more is stored cut: megabyte documents slow down their whole collection. Bytes. */
const DETAIL_BYTES = 65_536;
/** How much of the beginning of a cut detail stays readable. UTF-16 code units. */
const DETAIL_START = 4_096;

/** How long a chain is and what its last hash is; `mac` proves that a holder of the key said so. */
export interface AuditHead {
  count: number;
  hash: string;
  mac: string;
}

/** Up to where the entries of a chain were exported and then removed; `mac` proves that a holder of the key said so. */
export interface ExpiredEnd {
  /** How many entries that are. */
  count: number;
  /** Of the last of them. */
  hash: string;
  /** When, ISO 8601. */
  at: string;
  mac: string;
}

/** The canonical JSON of an event, redacted, with a detail that is too large replaced by its digest and beginning. */
export function bodyOf(event: AuditEvent): string {
  const shown = redact(event.detail);
  const detail = canonicalJson(shown);
  const bytes = Buffer.byteLength(detail);
  if (bytes <= DETAIL_BYTES) return canonicalJson({ ...event, detail: shown });
  const sha256 = createHash('sha256').update(detail).digest('hex');
  return canonicalJson({ ...event, detail: { cut: true, bytes, sha256, start: detail.slice(0, DETAIL_START) } });
}

/** Makes and checks the keyed hashes of chains. Without the key nobody can make one that checks. */
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

  /** Only the body may contain a line break, and it comes last: no two inputs give the same bytes. */
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

  expiry(sandboxId: string, { count, hash, at }: Omit<ExpiredEnd, 'mac'>): ExpiredEnd {
    return { count, hash, at, mac: this.#hmac(`expired\n${sandboxId}\n${count}\n${hash}\n${at}`) };
  }

  isGenuineExpiry(sandboxId: string, expired: ExpiredEnd): boolean {
    return expired.mac === this.expiry(sandboxId, expired).mac;
  }

  /** Of an event that waits for its chain, so that nobody without the key has one appended. */
  queued(sandboxId: string, body: string): string {
    return this.#hmac(`queued\n${sandboxId}\n${body}`);
  }

  #hmac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }
}
