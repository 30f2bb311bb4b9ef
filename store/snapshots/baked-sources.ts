import { MayflyError } from '../../model/errors.ts';
import { isSourceId } from '../../model/ids.ts';
import { type BakedSource, type BakedSourceState, bakedSource } from '../../model/snapshots/baked-source.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

/** Sources baked from snapshots, `_id` = source id. Each is written by the workflows of its name only. */
export class BakedSources extends recordRepositoryOf({
  collection: 'bakedSources',
  noun: 'a source',
  isId: isSourceId,
  model: bakedSource,
  required: ['project'],
}) {
  /** Returns all that were ever baked under a name, by host. */
  async named(name: string): Promise<BakedSource[]> {
    return (await this.find({ name: String(name) })).sort((a, b) => (a.hostId < b.hostId ? -1 : 1));
  }

  /** Returns all that were baked from one snapshot, or are to be. */
  ofSnapshot(snapshotId: string): Promise<BakedSource[]> {
    return this.find({ snapshotId: String(snapshotId) });
  }

  all(states: readonly BakedSourceState[]): Promise<BakedSource[]> {
    return this.find({ state: { $in: [...states] } });
  }

  /** Inserts a record, over an earlier one of that id. */
  async begin({ id, ...fields }: BakedSource): Promise<void> {
    await this.upsert(this.checked(id), fields);
  }

  /** Sets fields, and returns the new record. @throws MayflyError source_not_found */
  async update(id: string, changes: Partial<Omit<BakedSource, 'id' | 'hostId' | 'name'>>): Promise<BakedSource> {
    const changed = await this.setAndRead({ _id: this.checked(id) }, changes);
    if (changed) return changed;
    throw new MayflyError('source_not_found', `There is no baked source ${id} in the store.`);
  }
}
