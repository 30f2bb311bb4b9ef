import { z } from 'zod';
import { encryptedField, optional } from '../../model/fields.ts';
import type { CommandInputs } from '../../model/sandbox/command.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { repositoryOf } from '../repository/repository.ts';

const values = z.array(z.object({ name: z.string(), value: z.string() }));
/** Values as a list, like metadata: otherwise a variable's name would be the name of a field. */
const storedInputs = z.object({
  env: encryptedField(values.clone()),
  stdin: encryptedField(z.custom<StoredBytes>()),
  secretFiles: optional(encryptedField(values.clone())),
});

/**
 * Inputs that commands need to start and that must not be readable later: environment values, standard input and secret
 * files. `_id` = command id; removed when the command has started, or never will.
 */
export class StoredCommandInputs extends repositoryOf({
  collection: 'launches',
  noun: 'a command',
  model: storedInputs,
}) {
  /** Stores the inputs of a command; existing ones (of a repeated request) stay. */
  async keep(commandId: string, { env, stdin, secretFiles = {} }: CommandInputs): Promise<void> {
    const inputs = { env: toPairs(env), stdin: Buffer.from(stdin), secretFiles: toPairs(secretFiles) };
    await this.insert({ _id: commandId, ...inputs });
  }

  /** Returns null once removed. */
  async get(commandId: string): Promise<CommandInputs | null> {
    const found = await this.findById(commandId);
    if (!found) return null;
    const { env, stdin, secretFiles } = found;
    return { env: fromPairs(env), stdin: bytesOf(stdin), secretFiles: fromPairs(secretFiles ?? []) };
  }

  async remove(commandId: string): Promise<void> {
    await this.deleteOne({ _id: commandId });
  }
}

function toPairs(values: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function fromPairs(values: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(values.map(({ name, value }) => [name, value]));
}
