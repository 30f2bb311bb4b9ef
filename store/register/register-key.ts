import { createHmac, hkdfSync } from 'node:crypto';
import type { RegisterDocument } from './facts.ts';
import { numberOf, numberText } from './facts.ts';

/** `previousHash` of the first entry. */
export const GENESIS = '0'.repeat(64);
/** RFC 5869's `info`: separates this key from others derived from the audit key. */
const INFO = 'mayfly audit register';

/**
 * Computes and verifies the keyed hashes of the register, with a key derived from the audit key by HKDF-SHA256 (RFC
 * 5869).
 */
export class RegisterKey {
  readonly #key: Uint8Array;

  /** @param auditKey at least 32 bytes */
  constructor(auditKey: Uint8Array) {
    this.#key = new Uint8Array(hkdfSync('sha256', auditKey, '', INFO, 32));
  }

  entry(number: number, previousHash: string, body: string): RegisterDocument {
    return { _id: numberText(number), body, previousHash, hash: this.#hash(number, previousHash, body) };
  }

  isGenuine({ _id, body, previousHash, hash }: RegisterDocument): boolean {
    const number = numberOf(_id);
    return number !== null && hash === this.#hash(number, previousHash, body);
  }

  /** Computes the MAC of a whole export, by the SHA-256 of its lines. */
  sealed(sha256: string): string {
    return this.#hmac(`export\n${sha256}`);
  }

  /** Hashes an entry. Only the body may contain a line break, and it comes last: no two inputs give the same bytes. */
  #hash(number: number, previousHash: string, body: string): string {
    return this.#hmac(`register\n${number}\n${previousHash}\n${body}`);
  }

  #hmac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }
}
