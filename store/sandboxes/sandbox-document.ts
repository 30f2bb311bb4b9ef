import type { Schema } from 'mongoose';
import { type SandboxRecord, type SandboxSpec, sandboxRecord } from '../../model/sandbox/sandbox.ts';
import { fieldsOf } from '../mongo/model-fields.ts';
import { assertFields } from '../mongo/required-fields.ts';
import { NAME, strictSchema, TEXT } from '../mongo/schema.ts';

/**
 * Spec as stored. Metadata keys are the caller's, and `a.b` or `$a` have a meaning for MongoDB as field names, so they
 * are stored as values.
 */
type StoredSpec = Omit<SandboxSpec, 'metadata'> & { metadata: { name: string; value: string }[] };

export type SandboxDocument = Omit<SandboxRecord, 'id' | 'spec'> & {
  _id: string;
  spec: StoredSpec;
  /** Unique name within its project; only in living records, absent without a name. */
  heldName?: string;
};

export function documentOf({ id, spec, ...rest }: SandboxRecord): SandboxDocument {
  return { _id: id, ...rest, spec: storedSpec(spec) };
}

/** Returns the value of the unique index that keeps names apart within a project. */
export function heldNameOf(project: string, name: string): string {
  return `${project}/${name}`;
}

/** Returns the document of a living sandbox, which holds its name. */
export function livingDocumentOf(record: SandboxRecord): SandboxDocument {
  const document = documentOf(record);
  return { ...document, ...(record.name !== null && { heldName: heldNameOf(document.project, record.name) }) };
}

/** @throws MayflyError record_damaged */
export function recordOf(document: SandboxDocument): SandboxRecord {
  assertFields('sandboxes', document, ['project']);
  const { _id, spec, heldName: _held, ...rest } = document;
  const metadata = Object.fromEntries(spec.metadata.map(({ name, value }) => [name, value]));
  return { id: _id, ...rest, spec: { ...spec, metadata } };
}

/** Returns the `$set` of these changes. */
export function toSetOperator({ spec, ...rest }: Partial<Omit<SandboxRecord, 'id'>>): Partial<SandboxDocument> {
  return spec ? { ...rest, spec: storedSpec(spec) } : rest;
}

function storedSpec(spec: SandboxSpec): StoredSpec {
  return { ...spec, metadata: Object.entries(spec.metadata).map(([name, value]) => ({ name, value })) };
}

export function sandboxSchema(): Schema<SandboxDocument> {
  const { id: _id, ...shape } = sandboxRecord.shape;
  return strictSchema<SandboxDocument>({ _id: NAME, ...fieldsOf(shape), heldName: TEXT });
}
