import type { Connection, Model } from 'mongoose';
import { reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { SecretRef } from './secrets.ts';

interface ValueDocument {
  /** `<project>/<name>/<value id>` */
  _id: string;
  value: string;
}

/** What secrets are, sealed. Who takes requests writes it, and has no right to read it. */
export class SecretValues {
  readonly #model: Model<ValueDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('secretValues');
    const schema = strictSchema<ValueDocument>({ _id: NAME, value: SEALED });
    this.#model = connection.model<ValueDocument>('SecretValue', schema, 'secretValues');
  }

  /** @param valueId that nobody has used */
  async create(ref: SecretRef, valueId: string, value: string): Promise<void> {
    const _id = idOf(ref, valueId);
    await reaching('keep a secret', () => this.#model.create({ ...this.#fields.sealed(_id, { value }), _id }));
  }

  /** Null: another has come in its place, or it is deleted. */
  async get(ref: SecretRef, valueId: string): Promise<string | null> {
    const _id = idOf(ref, valueId);
    const found = await reaching('read a secret', () => this.#model.findById(_id).lean<ValueDocument>());
    return found && this.#fields.opened(found).value;
  }

  async remove(ref: SecretRef, valueId: string): Promise<void> {
    await reaching('forget a secret', () => this.#model.deleteOne({ _id: idOf(ref, valueId) }));
  }
}

function idOf({ project, name }: SecretRef, valueId: string): string {
  return `${project}/${name}/${valueId}`;
}
