import type { Connection } from 'mongoose';
import { idPrefixFilter } from '../mongo/below.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';

export type RawDocument = Record<string, unknown> & { _id: string };

/** Connection to the documents, and their decryption. */
export interface Archive {
  connection: Connection;
  sealing: StoreEncryption;
}

/** Decrypted document of an export, and its collection. */
export interface Exported {
  collection: string;
  document: RawDocument;
}

/** Documents read at a time: chunks of output have 64 KiB each. */
const AT_ONCE = 16;

export function collectionOf(connection: Connection, name: string) {
  return connection.collection<RawDocument>(name);
}

/**
 * Returns a filter of documents dated before an instant, in pages by date and id. @param after end of the page before;
 * null: the first page
 */
export function datedBefore(field: string, before: string, after: { id: string; endedAt: string } | null) {
  if (!after) return { [field]: { $lt: before } };
  const $or = [{ [field]: { $gt: after.endedAt } }, { _id: { $gt: after.id } }];
  return { [field]: { $lt: before, $gte: after.endedAt }, $or };
}

/**
 * Lists the parts of a sandbox besides its commands, by collection. Certificates are public; inputs of commands are
 * secret, and never exported.
 */
export function partsOf(sandboxId: string): [collection: string, filter: Record<string, unknown>][] {
  return [
    ['snapshots', { sandboxId }],
    ['certificates', { sandboxId }],
    ['uses', { _id: sandboxId }],
  ];
}

/** Yields all documents of an ended sandbox except its audit. The record itself comes first. */
export async function* documentsOf(archive: Archive, sandboxId: string): AsyncGenerator<Exported> {
  const all: [string, Record<string, unknown>][] = [['endedSandboxes', { _id: sandboxId }], ...partsOf(sandboxId)];
  for (const [collection, filter] of all) yield* exportDocuments(archive, collection, filter);
  for await (const command of exportDocuments(archive, 'commands', { sandboxId })) {
    yield command;
    yield* exportDocuments(archive, 'output', idPrefixFilter(command.document._id));
  }
}

export async function* exportDocuments(
  { connection, sealing }: Archive,
  collection: string,
  filter: Record<string, unknown>,
): AsyncGenerator<Exported> {
  const fields = sealing.of(collection);
  for await (const document of collectionOf(connection, collection).find(filter, { batchSize: AT_ONCE })) {
    const unreadable: Unreadable[] = [];
    const [opened = { _id: document._id, unreadable }] = fields.records([document], (each) => each, unreadable);
    yield { collection, document: opened };
  }
}
