import type { Connection } from 'mongoose';
import { documentsOf } from './reseal.ts';
import { RECORD_COLLECTIONS, type Unreadable } from './sealed-fields.ts';
import type { Sealing } from './sealing.ts';

/** Result of reading the records of a store. */
export interface Scan {
  /** Records that were read. */
  records: number;
  unreadable: Unreadable[];
  /** False: the time was over before. */
  isComplete: boolean;
}

/**
 * Reads the records with encrypted fields, but for contents and audits, and lists those that cannot be read.
 * @param withinMs time for all, ms
 * @throws MayflyError store_unavailable; payload_key_unusable without any key
 */
export async function scanRecords(connection: Connection, sealing: Sealing, withinMs: number): Promise<Scan> {
  const scan: Scan = { records: 0, unreadable: [], isComplete: true };
  const began = performance.now();
  for (const collection of [...RECORD_COLLECTIONS, 'endedSandboxes']) {
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
