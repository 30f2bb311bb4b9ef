import type { Connection } from 'mongoose';
import type { CommandInputs } from '../../model/sandbox/command.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { ENCRYPTED } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Values as a list, like metadata: a variable's name would be the name of a field otherwise. */
interface StoredInputs {
  env: { name: string; value: string }[];
  stdin: StoredBytes;
  secretFiles?: { name: string; value: string }[];
}

/**
 * What commands need for their start and nobody may read later: values of the environment, and standard input.
 * `_id` = command id; removed when the command has started, or never will.
 */
export class StoredCommandInputs extends Repository<StoredInputs> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { env: ENCRYPTED, stdin: ENCRYPTED, secretFiles: ENCRYPTED };
    super(connection, sealing, { collection: 'launches', noun: 'a command', fields });
  }

  /** Keeps what one command needs; what is there already (a repeated request) stays. */
  async keep(commandId: string, { env, stdin, secretFiles = {} }: CommandInputs): Promise<void> {
    const inputs = { env: listed(env), stdin: Buffer.from(stdin), secretFiles: listed(secretFiles) };
    await this.insert({ _id: commandId, ...inputs });
  }

  /** Null once it was removed. */
  async get(commandId: string): Promise<CommandInputs | null> {
    const found = await this.findById(commandId);
    if (!found) return null;
    const { env, stdin, secretFiles } = found;
    return { env: named(env), stdin: bytesOf(stdin), secretFiles: named(secretFiles ?? []) };
  }

  async remove(commandId: string): Promise<void> {
    await this.deleteOne({ _id: commandId });
  }
}

function listed(values: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function named(values: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(values.map(({ name, value }) => [name, value]));
}
