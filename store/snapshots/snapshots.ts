import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId, isSnapshotId } from '../../model/ids.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { SnapshotReason, SnapshotRecord, SnapshotState } from '../../model/snapshots/snapshot.ts';
import type { StoredPart } from '../../model/snapshots/storage.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, strictSchema } from '../mongo/schema.ts';
import { olderThan, type Page, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import { documentOf, recordOf, type SnapshotDocument, snapshotSchema } from './snapshot-document.ts';

/** Whose a name is: `_id` is `<sandboxId>/<name>`, which no two snapshots can insert. */
interface NameDocument {
  _id: string;
  snapshotId: string;
}

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;
/** In these a snapshot has no claim to its name any more. */
const NAMELESS: ReadonlySet<SnapshotState> = new Set(['failed', 'deleted']);

/** Taken for a comparison, and gone with it; or what runs of a function are forked from. */
const UNLISTED: SnapshotReason[] = ['diff', 'setup'];

/** The records of snapshots, one document each, `_id` = snapshot id. None is ever removed. */
export class Snapshots {
  readonly #model: Model<SnapshotDocument>;
  readonly #fields: SealedFields;
  readonly #names: Model<NameDocument>;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('snapshots');
    this.#model = connection.model<SnapshotDocument>('Snapshot', snapshotSchema(), 'snapshots');
    const names = strictSchema<NameDocument>({ _id: NAME, snapshotId: NAME });
    this.#names = connection.model<NameDocument>('SnapshotName', names, 'snapshotNames');
  }

  /**
   * Inserts the record of a snapshot that begins. Repeating it answers with what is there by now.
   * @param expectedBytes what it counts as until it is saved
   * @throws MayflyError snapshot_name_taken
   */
  async create(record: SnapshotRecord, expectedBytes = 0): Promise<SnapshotRecord> {
    checkId(record.id);
    await this.#claimName(record);
    try {
      await reaching('record a snapshot', () =>
        this.#model.create(this.#fields.sealed(record.id, documentOf(record, expectedBytes))),
      );
      return record;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const present = await this.get(record.id);
    if (present?.sandboxId === record.sandboxId && present.name === record.name) return present;
    throw new MayflyError('internal', `The id ${record.id} was given to two snapshots.`);
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<SnapshotRecord | null> {
    checkId(id);
    const found = await reaching('read a snapshot', () => this.#model.findById(id).lean<SnapshotDocument>());
    return found && this.#record(found);
  }

  /**
   * Sets the given fields, each as a whole, and answers with the new record. One that fails or is deleted gives its name
   * back.
   * @throws MayflyError snapshot_not_found
   */
  async update(
    id: string,
    changes: Partial<Omit<SnapshotRecord, 'id' | 'sandboxId' | 'name' | 'project'>>,
  ): Promise<SnapshotRecord> {
    checkId(id);
    const changed = await reaching('change a snapshot', () =>
      this.#model
        .findOneAndUpdate(
          { _id: id },
          { $set: this.#fields.sealed(id, changes) },
          { returnDocument: 'after', runValidators: true },
        )
        .lean<SnapshotDocument>(),
    );
    if (!changed) throw new MayflyError('snapshot_not_found', `There is no snapshot ${id} in the store.`);
    const record = this.#record(changed);
    if (NAMELESS.has(record.state)) await this.#releaseName(record);
    return record;
  }

  /**
   * One page of a sandbox's snapshots, newest first, without those that are there for a comparison, or for runs of a function.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list(query: { sandboxId: string; limit: number; cursor?: string }): Promise<Page<SnapshotRecord>> {
    const { sandboxId, limit, cursor } = query;
    if (!isSandboxId(sandboxId)) throw new MayflyError('invalid_id', 'That is not a sandbox id.');
    const filter = { sandboxId, reason: { $nin: UNLISTED }, ...olderThan(cursor, 'createdAt', isSnapshotId) };
    const found = await reaching('list snapshots', () =>
      this.#model
        .find(filter)
        .sort(NEWEST_FIRST)
        .limit(limit + 1)
        .lean<SnapshotDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ createdAt }) => createdAt, recordOf });
  }

  /** All that are in one of these states. */
  async all(states: readonly SnapshotState[]): Promise<SnapshotRecord[]> {
    const found = await reaching('read snapshots by state', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<SnapshotDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Of failed runs, those that are to be kept no longer. @param before ISO 8601 */
  async past(before: string, limit: number): Promise<SnapshotRecord[]> {
    const found = await reaching('look for snapshots of failed runs', () =>
      this.#model
        .find({ state: 'ready', 'keptOf.until': { $lt: before } })
        .limit(limit)
        .lean<SnapshotDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** Those of a sandbox that nobody has finished. */
  async creating(sandboxId: string): Promise<SnapshotRecord[]> {
    if (!isSandboxId(sandboxId)) throw new MayflyError('invalid_id', 'That is not a sandbox id.');
    const found = await reaching('read snapshots in the making', () =>
      this.#model.find({ sandboxId, state: 'creating' }).lean<SnapshotDocument[]>(),
    );
    return this.#fields.records(found, recordOf);
  }

  /** What counts in quotas: every one that is saved, or begun, and not deleted. */
  async kept(): Promise<StoredPart[]> {
    const found = await reaching('read what is stored of snapshots', () =>
      this.#model.find({ state: { $in: ['creating', 'ready', 'deleting'] } }).lean<SnapshotDocument[]>(),
    );
    return found.map(({ _id, project, sandboxId, hostId, createdBy, saved, expectedBytes }) => ({
      kind: 'snapshot',
      id: _id,
      project: project ?? DEFAULT_PROJECT,
      sandboxId,
      hostId,
      apiKeyId: createdBy.apiKeyId,
      bytes: saved?.sizeBytes ?? expectedBytes ?? 0,
      measuredAt: saved?.savedAt ?? null,
    }));
  }

  async #claimName({ id, sandboxId, name }: SnapshotRecord): Promise<void> {
    const _id = `${sandboxId}/${name}`;
    try {
      await reaching('claim the name of a snapshot', () => this.#names.create({ _id, snapshotId: id }));
      return;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const holder = await reaching('read whose a name is', () => this.#names.findById(_id).lean<NameDocument>());
    if (holder?.snapshotId === id) return;
    throw new MayflyError(
      'snapshot_name_taken',
      `${sandboxId} has a snapshot named ${JSON.stringify(name)}: ${holder?.snapshotId ?? 'it was just deleted'}.`,
    );
  }

  async #releaseName({ id, sandboxId, name }: SnapshotRecord): Promise<void> {
    await reaching('free the name of a snapshot', () =>
      this.#names.deleteOne({ _id: `${sandboxId}/${name}`, snapshotId: id }),
    );
  }

  #record(document: SnapshotDocument): SnapshotRecord {
    return recordOf(this.#fields.opened(document));
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSnapshotId(id)) throw new MayflyError('invalid_id', 'That is not a snapshot id.');
}
