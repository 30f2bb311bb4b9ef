import { MayflyError } from '../../model/errors.ts';
import { isSourceId } from '../../model/ids.ts';
import { type BakedSource, type BakedSourceState, bakedSource } from '../../model/snapshots/baked-source.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

/** Sources that were made of snapshots, `_id` = source id. Each is written by the workflows of its name only. */
export class BakedSources extends recordRepositoryOf({
  collection: 'bakedSources',
  noun: 'a source',
  isId: isSourceId,
  model: bakedSource,
  required: ['project'],
}) {
  /** All that were ever made under that name, by host. */
  async named(name: string): Promise<BakedSource[]> {
    return (await this.find({ name: String(name) })).sort((a, b) => (a.hostId < b.hostId ? -1 : 1));
  }

  /** All that were made of one snapshot, or were to be. */
  ofSnapshot(snapshotId: string): Promise<BakedSource[]> {
    return this.find({ snapshotId: String(snapshotId) });
  }

  /** All that are in one of these states. */
  all(states: readonly BakedSourceState[]): Promise<BakedSource[]> {
    return this.find({ state: { $in: [...states] } });
  }

  /** Takes the place of an earlier record of that id. */
  async begin({ id, ...fields }: BakedSource): Promise<void> {
    await this.upsert(this.checked(id), fields);
  }

  /** Sets the given fields, and answers with the new record. @throws MayflyError source_not_found */
  async update(id: string, changes: Partial<Omit<BakedSource, 'id' | 'hostId' | 'name'>>): Promise<BakedSource> {
    const changed = await this.setAndRead({ _id: this.checked(id) }, changes);
    if (changed) return changed;
    throw new MayflyError('source_not_found', `There is no baked source ${id} in the store.`);
  }
}
