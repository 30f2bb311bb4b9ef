import type { Schema } from 'mongoose';
import { NAME, strictSchema } from '../mongo/schema.ts';

/** Length of a chain. */
export interface ChainMark {
  subject: string;
  /** Number of its entries. */
  count: number;
  /** Hash of the last of them. */
  hash: string;
}

/** Fact that the register records. */
export type RegisterFact =
  /** A chain began with an entry of that hash; null when that entry is missing. */
  | { kind: 'birth'; subject: string; first: string | null }
  /** A chain had this length. */
  | ({ kind: 'head' } & ChainMark)
  /** Retention is about to remove the entries of a chain up to this length. */
  | ({ kind: 'removed' } & ChainMark)
  /** State of an API key, when new and after each change. */
  | ({ kind: 'key'; keyId: string } & KeyMark)
  /** The anchor was missing, or far behind, and is set again after that entry. */
  | { kind: 'anchored'; after: number }
  /** The holder of the key accepts that these entries are lost, with the reason. */
  | { kind: 'accepted'; from: number; to: number; reason: string };

/** Facts of an API key that never change, except that it is revoked once. */
export interface KeyMark {
  scopes: readonly string[];
  createdAt: string;
  revokedAt: string | null;
}

/** Hashed content of an entry, as JSON. */
export interface RegisterBody {
  /** ISO 8601. */
  at: string;
  facts: RegisterFact[];
}

/** Entry; `_id` is its number, padded, so that the unique insert decides who wrote it. */
export interface RegisterDocument {
  _id: string;
  /** JSON of a {@link RegisterBody}: the hashed bytes are the stored bytes. */
  body: string;
  previousHash: string;
  hash: string;
}

/** Lookup of a birth without reading the register; `_id` is the subject. A hint only: it has no keyed hash. */
export interface GenesisDocument {
  _id: string;
  /** Hash of the chain's first entry; empty when unknown. */
  first: string;
}

const NUMBER_DIGITS = 12;
const NUMBERED = /^\d{12}$/;

export function numberText(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

/** Returns null for an id that is not of our format. */
export function numberOf(id: string): number | null {
  return NUMBERED.test(id) ? Number(id) : null;
}

export function registerSchema(): Schema<RegisterDocument> {
  return strictSchema<RegisterDocument>({ _id: NAME, body: NAME, previousHash: NAME, hash: NAME });
}

export function birthSchema(): Schema<GenesisDocument> {
  return strictSchema<GenesisDocument>({ _id: NAME, first: { type: String } });
}
