import { z } from 'zod';
import { encryptedField } from '../../model/fields.ts';
import type { AttemptSecret } from '../../model/secrets/secret.ts';
import { repositoryOf } from '../repository/repository.ts';

/**
 * Secrets that attempts of runs were given, encrypted: they mask the output, regardless of later changes of a secret.
 * `_id` = command id; removed when the attempt has ended.
 */
export class AttemptSecrets extends repositoryOf({
  collection: 'attemptSecrets',
  noun: 'an attempt',
  model: z.object({ secrets: encryptedField(z.custom<AttemptSecret[]>()) }),
}) {
  /** Stores the secrets of an attempt; existing ones stay. @returns the stored ones */
  async keep(commandId: string, secrets: AttemptSecret[]): Promise<AttemptSecret[]> {
    if (await this.insert({ _id: commandId, secrets })) return secrets;
    return (await this.get(commandId)) ?? secrets;
  }

  /** Returns null for an attempt that was given none, or has ended. */
  async get(commandId: string): Promise<AttemptSecret[] | null> {
    return (await this.findById(commandId))?.secrets ?? null;
  }

  async remove(commandId: string): Promise<void> {
    await this.deleteOne({ _id: commandId });
  }
}
