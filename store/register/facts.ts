import type { Schema } from 'mongoose';
import { NAME, strictSchema } from '../mongo/schema.ts';

/** How far a chain goes. */
export interface ChainMark {
  subject: string;
  /** How many entries it has. */
  count: number;
  /** Of the last of them. */
  hash: string;
}

/** What the register says. */
export type RegisterFact =
  /** A chain began, with an entry of that hash; null where that is not there any more. */
  | { kind: 'birth'; subject: string; first: string | null }
  /** A chain had come so far. */
  | ({ kind: 'head' } & ChainMark)
  /** Retention is about to remove the entries of a chain up to there. */
  | ({ kind: 'removed' } & ChainMark)
  /** An API key as it was seen: when it was new, and when it had changed. */
  | ({ kind: 'key'; keyId: string } & KeyMark)
  /** The anchor was missing, or far behind, and is put anew after that entry. */
  | { kind: 'anchored'; after: number }
  /** The holder of the key knows that these entries are lost, and why. */
  | { kind: 'accepted'; from: number; to: number; reason: string };

/** What never changes of an API key, but that it is revoked once. */
export interface KeyMark {
  scopes: readonly string[];
  createdAt: string;
  revokedAt: string | null;
}

/** What is hashed of an entry, as JSON. */
export interface RegisterBody {
  /** ISO 8601. */
  at: string;
  facts: RegisterFact[];
}

/** One entry; `_id` is its number, padded, so that the unique insert settles who wrote it. */
export interface RegisterDocument {
  _id: string;
  /** JSON of a {@link RegisterBody}: the hashed bytes are the stored bytes. */
  body: string;
  previousHash: string;
  hash: string;
}

/** Finds a birth without reading the register; `_id` is the subject. A hint only: it has no keyed hash. */
export interface BirthDocument {
  _id: string;
  /** Hash of the chain's first entry; empty where it is not known. */
  first: string;
}

const NUMBER_DIGITS = 12;
const NUMBERED = /^\d{12}$/;

export function numberText(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

/** Null when no entry of ours has that id. */
export function numberOf(id: string): number | null {
  return NUMBERED.test(id) ? Number(id) : null;
}

export function registerSchema(): Schema<RegisterDocument> {
  return strictSchema<RegisterDocument>({ _id: NAME, body: NAME, previousHash: NAME, hash: NAME });
}

export function birthSchema(): Schema<BirthDocument> {
  return strictSchema<BirthDocument>({ _id: NAME, first: { type: String } });
}
