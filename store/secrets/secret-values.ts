import { z } from 'zod';
import { encryptedField } from '../../model/fields.ts';
import { repositoryOf } from '../repository/repository.ts';
import type { SecretRef } from './secrets.ts';

/**
 * Values of secrets, encrypted, `_id` = `<project>/<name>/<value id>`. The API writes them, and has no right to read
 * them.
 */
export class SecretValues extends repositoryOf({
  collection: 'secretValues',
  noun: 'a secret',
  model: z.object({ value: encryptedField(z.string()) }),
}) {
  /** @param valueId unused id */
  async create(ref: SecretRef, valueId: string, value: string): Promise<void> {
    const _id = idOf(ref, valueId);
    if (!(await this.insert({ _id, value }))) throw new Error(`The value ${_id} of a secret was created twice.`);
  }

  /** Returns null for a value that was replaced or deleted. */
  async get(ref: SecretRef, valueId: string): Promise<string | null> {
    return (await this.findById(idOf(ref, valueId)))?.value ?? null;
  }

  async remove(ref: SecretRef, valueId: string): Promise<void> {
    await this.deleteOne({ _id: idOf(ref, valueId) });
  }
}

function idOf({ project, name }: SecretRef, valueId: string): string {
  return `${project}/${name}/${valueId}`;
}
