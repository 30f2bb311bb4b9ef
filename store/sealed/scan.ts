import type { Connection } from 'mongoose';
import { withStoreErrors } from '../mongo/failure.ts';
import { pagesOf } from '../mongo/pages.ts';
import type { Unreadable } from './sealed-fields.ts';
import type { StoreEncryption } from './sealing.ts';

export type StoredDocument = Record<string, unknown> & { _id: string };

/** Documents read at once: chunks of output have 64 KiB each. */
const AT_ONCE = 16;

/** Result of reading the records of a store. */
export interface Scan {
  /** Records that were read. */
  records: number;
  unreadable: Unreadable[];
  /** False when the time ran out. */
  isComplete: boolean;
}

/**
 * Reads the records with encrypted fields, except contents and audits, and lists the unreadable ones.
 * @param withinMs time for all, ms
 * @throws MayflyError store_unavailable; payload_key_unusable without any key
 */
export async function scanRecords(connection: Connection, sealing: StoreEncryption, withinMs: number): Promise<Scan> {
  const scan: Scan = { records: 0, unreadable: [], isComplete: true };
  const began = performance.now();
  for (const [collection, encrypted] of sealing.encrypted()) {
    if (collection === 'audit' || encrypted.includes('bytes')) continue; // verified separately; large
    const fields = sealing.of(collection);
    for await (const document of documentsOf(connection, collection)) {
      if (performance.now() - began > withinMs) return { ...scan, isComplete: false };
      const unreadable = fields.problemOf(document);
      if (unreadable) scan.unreadable.push(unreadable);
      scan.records += 1;
    }
  }
  return scan;
}

/** Reads the documents of a collection in pages, by their ids. */
export async function* documentsOf(connection: Connection, name: string): AsyncGenerator<StoredDocument> {
  const stored = connection.collection<StoredDocument>(name);
  const read = (after: string) =>
    withStoreErrors('read all documents', () =>
      stored.find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: AT_ONCE }).toArray(),
    );
  for await (const page of pagesOf(AT_ONCE, read)) yield* page;
}
