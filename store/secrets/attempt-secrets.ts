import { z } from 'zod';
import { encrypted } from '../../model/fields.ts';
import type { GivenSecret } from '../../model/secrets/secret.ts';
import { repositoryOf } from '../repository/repository.ts';

/**
 * What the attempts of runs were given, encrypted: what they print is masked by it, whatever became of a secret since.
 * `_id` = command id; removed when the attempt is over.
 */
export class AttemptSecrets extends repositoryOf({
  collection: 'attemptSecrets',
  noun: 'an attempt',
  model: z.object({ secrets: encrypted(z.custom<GivenSecret[]>()) }),
}) {
  /** What is there already stays. @returns what is there then */
  async keep(commandId: string, secrets: GivenSecret[]): Promise<GivenSecret[]> {
    if (await this.insert({ _id: commandId, secrets })) return secrets;
    return (await this.get(commandId)) ?? secrets;
  }

  /** Null: it was given none, or is over. */
  async get(commandId: string): Promise<GivenSecret[] | null> {
    return (await this.findById(commandId))?.secrets ?? null;
  }

  async remove(commandId: string): Promise<void> {
    await this.deleteOne({ _id: commandId });
  }
}
