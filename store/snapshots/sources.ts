import { MayflyError } from '../../model/errors.ts';
import { isHostId, isSourceId } from '../../model/ids.ts';
import { type SourceAccess, sourceAccess } from '../../model/snapshots/source-access.ts';
import { type DocumentOf, recordRepositoryOf } from '../repository/repository.ts';

/** Which running sources may be looked at; `_id` = source id. Each is written by its own workflow's activities only. */
export class Sources extends recordRepositoryOf({
  collection: 'sources',
  noun: 'a source',
  isId: isSourceId,
  model: sourceAccess,
}) {
  /** All that were ever asked to be prepared under that name, by host. */
  async named(name: string): Promise<SourceAccess[]> {
    return (await this.find({ name: String(name) })).sort((a, b) => (a.hostId < b.hostId ? -1 : 1));
  }

  /** All that can be looked at. */
  prepared(): Promise<SourceAccess[]> {
    return this.in('prepared');
  }

  in(state: SourceAccess['state']): Promise<SourceAccess[]> {
    return this.find({ state });
  }

  /** Changes what is known of a source, and answers with all of it; what is not known yet begins as nothing. */
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

/** What stands for a field that was never written. */
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
