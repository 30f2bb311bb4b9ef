import { MayflyError } from '../../model/errors.ts';
import { isHostId, isSourceId } from '../../model/ids.ts';
import { type SourceAccess, sourceAccess } from '../../model/snapshots/source-access.ts';
import { type DocumentOf, recordRepositoryOf } from '../repository/repository.ts';

/** Access to running sources; `_id` = source id. Each is written by its own workflow's activities only. */
export class Sources extends recordRepositoryOf({
  collection: 'sources',
  noun: 'a source',
  isId: isSourceId,
  model: sourceAccess,
}) {
  /** Returns all sources ever requested under a name, by host. */
  async named(name: string): Promise<SourceAccess[]> {
    return (await this.find({ name: String(name) })).sort((a, b) => (a.hostId < b.hostId ? -1 : 1));
  }

  /** Returns the sources that can be accessed. */
  prepared(): Promise<SourceAccess[]> {
    return this.in('prepared');
  }

  in(state: SourceAccess['state']): Promise<SourceAccess[]> {
    return this.find({ state });
  }

  /** Changes the access of a source, and returns all of it; fields that were never written have defaults. */
  async change(
    { id, hostId, installationId, name }: Pick<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>,
    changes: Partial<Omit<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>>,
  ): Promise<SourceAccess> {
    this.checked(id);
    if (!isHostId(hostId)) throw new MayflyError('invalid_id', 'That is not a host id.');
    return this.upsert(id, { ...changes, hostId, installationId, name });
  }

  protected override readonly recordOf = ({ _id, ...rest }: DocumentOf<SourceAccess>): SourceAccess => {
    return { id: _id, ...UNKNOWN, ...rest };
  };
}

/** Defaults of fields that were never written. */
const UNKNOWN: Omit<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name' | 'updatedAt'> = {
  state: 'unprepared',
  sshd: null,
  gateVersion: null,
  changes: [],
  preparedAt: null,
  preparedBy: null,
  failure: null,
  waitingFor: null,
};
