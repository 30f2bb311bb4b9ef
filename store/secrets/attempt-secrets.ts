import type { Connection, Model } from 'mongoose';
import type { GivenSecret } from '../../model/secrets/secret.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface AttemptSecretsDocument {
  _id: string;
  secrets: GivenSecret[];
}

/**
 * What the attempts of runs were given, sealed: what they print is masked by it, whatever became of a secret since.
 * `_id` = command id; removed when the attempt is over.
 */
export class AttemptSecrets {
  readonly #model: Model<AttemptSecretsDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('attemptSecrets');
    const schema = strictSchema<AttemptSecretsDocument>({ _id: NAME, secrets: SEALED });
    this.#model = connection.model<AttemptSecretsDocument>('AttemptSecrets', schema, 'attemptSecrets');
  }

  /** What is there already stays. @returns what is there then */
  async keep(commandId: string, secrets: GivenSecret[]): Promise<GivenSecret[]> {
    try {
      const kept = this.#fields.sealed(commandId, { secrets });
      await reaching('keep the secrets of an attempt', () => this.#model.create({ ...kept, _id: commandId }));
      return secrets;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return (await this.get(commandId)) ?? secrets;
    }
  }

  /** Null: it was given none, or is over. */
  async get(commandId: string): Promise<GivenSecret[] | null> {
    const found = await reaching('read the secrets of an attempt', () =>
      this.#model.findById(commandId).lean<AttemptSecretsDocument>(),
    );
    return found && this.#fields.opened(found).secrets;
  }

  async remove(commandId: string): Promise<void> {
    await reaching('forget the secrets of an attempt', () => this.#model.deleteOne({ _id: commandId }));
  }
}
