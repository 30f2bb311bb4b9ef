import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isCommandId } from '../../model/ids.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { olderThan, type Page, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import { type CommandDocument, commandSchema, documentOf, recordOf } from './command-document.ts';

/** Newest first within a sandbox; the id settles equal times. */
const NEWEST_FIRST = { requestedAt: -1, _id: -1 } as const;

/** The records of commands; `_id` = command id. Inserted by the API, then written by the worker of its host only. */
export class Commands {
  readonly #model: Model<CommandDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('commands');
    this.#model = connection.model<CommandDocument>('Command', commandSchema(), 'commands');
  }

  /** Inserts the record; one that is there already (a repeated request) stays as it is. */
  async create(record: CommandRecord): Promise<void> {
    checkId(record.id);
    try {
      await reaching('record a command', () => this.#model.create(this.#fields.sealed(record.id, documentOf(record))));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<CommandRecord | null> {
    checkId(id);
    const found = await reaching('read a command', () => this.#model.findById(id).lean<CommandDocument>());
    return found && this.#record(found);
  }

  /** Sets the given fields, each as a whole. @throws MayflyError command_not_found */
  async update(id: string, changes: Partial<Omit<CommandRecord, 'id'>>): Promise<void> {
    checkId(id);
    const { matchedCount } = await reaching('change a command', () =>
      this.#model.updateOne({ _id: id }, { $set: this.#fields.sealed(id, changes) }, { runValidators: true }),
    );
    if (matchedCount === 0) throw new MayflyError('command_not_found', `There is no command ${id} in the store.`);
  }

  /**
   * One page of a sandbox's commands, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list(query: { sandboxId: string; limit: number; cursor?: string }): Promise<Page<CommandRecord>> {
    const { sandboxId, limit, cursor } = query;
    const filter = { sandboxId, ...olderThan(cursor, 'requestedAt', isCommandId) };
    const found = await reaching('list commands', () =>
      this.#model
        .find(filter)
        .sort(NEWEST_FIRST)
        .limit(limit + 1)
        .lean<CommandDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ requestedAt }) => requestedAt, recordOf });
  }

  /**
   * What ran in a sandbox between two instants, if only for a part of that time; oldest first, at most `limit`. Start and
   * end are by the guest's clock.
   */
  async between(query: { sandboxId: string; from: string; to: string; limit: number }): Promise<CommandRecord[]> {
    const { sandboxId, from, to, limit } = query;
    const filter = {
      sandboxId,
      startedAt: { $ne: null, $lt: to },
      $or: [{ endedAt: null }, { endedAt: { $gt: from } }],
    };
    const found = await reaching('list the commands of a time', () =>
      this.#model.find(filter).sort({ startedAt: 1, _id: 1 }).limit(limit).lean<CommandDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  #record(document: CommandDocument): CommandRecord {
    return recordOf(this.#fields.opened(document));
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isCommandId(id)) throw new MayflyError('invalid_id', 'That is not a command id.');
}
