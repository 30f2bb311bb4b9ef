import type { Connection } from 'mongoose';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { isSnapshotId } from '../../model/ids.ts';
import {
  type SnapshotReason,
  type SnapshotRecord,
  type SnapshotState,
  snapshotRecord,
} from '../../model/snapshots/snapshot.ts';
import type { StorageUsage } from '../../model/snapshots/storage.ts';
import { recordRepositoryOf, repositoryOf } from '../repository/repository.ts';
import { assertSandboxId } from '../sandboxes/assert-sandbox-id.ts';
import type { Page } from '../sealed/page-cursor.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';

export interface SnapshotQuery {
  sandboxId?: string;
  project?: string;
  limit: number;
  cursor?: string | undefined;
}

/** States in which a snapshot does not hold its name. */
const NAME_RELEASED_STATES: ReadonlySet<SnapshotState> = new Set(['failed', 'deleted']);

/** Reasons of internal snapshots: a comparison, or the setup that runs of a function are forked from. */
const UNLISTED: SnapshotReason[] = ['diff', 'setup'];

/** Claims of names: `_id` is `<sandboxId>/<name>`, which no two snapshots can insert. */
class SnapshotNames extends repositoryOf({
  collection: 'snapshotNames',
  noun: 'a name',
  model: z.object({ snapshotId: z.string() }),
}) {
  /** @throws MayflyError snapshot_name_taken */
  async claim({ id, sandboxId, name }: SnapshotRecord): Promise<void> {
    const _id = `${sandboxId}/${name}`;
    if (await this.insert({ _id, snapshotId: id })) return;
    const holder = await this.findById(_id);
    if (holder?.snapshotId === id) return;
    throw new MayflyError(
      'snapshot_name_taken',
      `${sandboxId} has a snapshot named ${JSON.stringify(name)}: ${holder?.snapshotId ?? 'it was just deleted'}.`,
    );
  }

  async release({ id, sandboxId, name }: SnapshotRecord): Promise<void> {
    await this.deleteOne({ _id: `${sandboxId}/${name}`, snapshotId: id });
  }
}

/** Snapshots, `_id` = snapshot id. None is ever removed. */
export class Snapshots extends recordRepositoryOf({
  collection: 'snapshots',
  noun: 'a snapshot',
  isId: isSnapshotId,
  model: snapshotRecord,
  /** Size in quotas until it is saved, bytes. */
  internal: { expectedBytes: z.number() },
  required: ['project', 'network'],
}) {
  readonly #names: SnapshotNames;

  constructor(connection: Connection, sealing: StoreEncryption) {
    super(connection, sealing);
    this.#names = new SnapshotNames(connection, sealing);
  }

  /**
   * Inserts the record of a new snapshot. A repeated call returns the present one.
   * @param expectedBytes size in quotas until it is saved
   * @throws MayflyError snapshot_name_taken
   */
  async create(record: SnapshotRecord, expectedBytes = 0): Promise<SnapshotRecord> {
    this.checked(record.id);
    await this.#names.claim(record);
    if (await this.insertRecord(record, { expectedBytes })) return record;
    const present = await this.get(record.id);
    if (present?.sandboxId === record.sandboxId && present.name === record.name) return present;
    throw new MayflyError('internal', `The id ${record.id} was given to two snapshots.`);
  }

  /**
   * Sets fields, each as a whole, and returns the new record. A failed or deleted snapshot releases its name.
   * @throws MayflyError snapshot_not_found
   */
  async update(
    id: string,
    changes: Partial<Omit<SnapshotRecord, 'id' | 'sandboxId' | 'name' | 'project'>>,
  ): Promise<SnapshotRecord> {
    const record = await this.setAndRead({ _id: this.checked(id) }, changes);
    if (!record) throw new MayflyError('snapshot_not_found', `There is no snapshot ${id} in the store.`);
    if (NAME_RELEASED_STATES.has(record.state)) await this.#names.release(record);
    return record;
  }

  /**
   * Returns one page, newest first, without those for a comparison or for runs of a function.
   * @param query.sandboxId only of this sandbox @param query.project only of this project
   */
  async list({ sandboxId, project, ...query }: SnapshotQuery): Promise<Page<SnapshotRecord>> {
    if (sandboxId !== undefined) assertSandboxId(sandboxId);
    const of = { ...(sandboxId !== undefined && { sandboxId }), ...(project && { project }) };
    return this.page({ ...of, reason: { $nin: UNLISTED } }, query, 'createdAt');
  }

  all(states: readonly SnapshotState[]): Promise<SnapshotRecord[]> {
    return this.find({ state: { $in: [...states] } });
  }

  /** Returns snapshots of failed runs whose retention has ended. @param before ISO 8601 */
  past(before: string, limit: number): Promise<SnapshotRecord[]> {
    return this.find({ state: 'ready', 'keptOf.until': { $lt: before } }, { limit });
  }

  /** Returns the unfinished snapshots of a sandbox. */
  async creating(sandboxId: string): Promise<SnapshotRecord[]> {
    assertSandboxId(sandboxId);
    return this.find({ sandboxId, state: 'creating' });
  }

  /** Returns the snapshots that count in quotas: saved or unfinished, and not deleted. */
  async kept(): Promise<StorageUsage[]> {
    const found = await this.documents({ state: { $in: ['creating', 'ready', 'deleting'] } });
    return found.map(({ _id, project, sandboxId, hostId, createdBy, saved, expectedBytes }) => ({
      kind: 'snapshot',
      id: _id,
      project,
      sandboxId,
      hostId,
      apiKeyId: createdBy.apiKeyId,
      bytes: saved?.sizeBytes ?? expectedBytes,
      measuredAt: saved?.savedAt ?? null,
    }));
  }
}
