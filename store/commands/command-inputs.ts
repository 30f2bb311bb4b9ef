import type { Connection, Model } from 'mongoose';
import type { CommandInputs } from '../../model/sandbox/command.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Values as a list, like metadata: a variable's name would be the name of a field otherwise. */
interface CommandInputsDocument {
  _id: string;
  env: { name: string; value: string }[];
  stdin: StoredBytes;
  secretFiles?: { name: string; value: string }[];
}

/**
 * What commands need for their start and nobody may read later: values of the environment, and standard input.
 * `_id` = command id; removed when the command has started, or never will.
 */
export class StoredCommandInputs {
  readonly #model: Model<CommandInputsDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('launches');
    const schema = strictSchema<CommandInputsDocument>({ _id: NAME, env: SEALED, stdin: SEALED, secretFiles: SEALED });
    this.#model = connection.model<CommandInputsDocument>('Launch', schema, 'launches');
  }

  /** Keeps what one command needs; what is there already (a repeated request) stays. */
  async keep(commandId: string, { env, stdin, secretFiles = {} }: CommandInputs): Promise<void> {
    const values = { env: listed(env), stdin: Buffer.from(stdin), secretFiles: listed(secretFiles) };
    const inputs = this.#fields.sealed(commandId, values);
    try {
      await reaching('keep what a command needs', () => this.#model.create({ _id: commandId, ...inputs }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Null once it was removed. */
  async get(commandId: string): Promise<CommandInputs | null> {
    const found = await reaching('read what a command needs', () =>
      this.#model.findById(commandId).lean<CommandInputsDocument>(),
    );
    if (!found) return null;
    const { env, stdin, secretFiles } = this.#fields.opened(found);
    return { env: named(env), stdin: bytesOf(stdin), secretFiles: named(secretFiles ?? []) };
  }

  async remove(commandId: string): Promise<void> {
    await reaching('forget what a command needed', () => this.#model.deleteOne({ _id: commandId }));
  }
}

function listed(values: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function named(values: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(values.map(({ name, value }) => [name, value]));
}
