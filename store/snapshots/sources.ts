import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isHostId, isSourceId } from '../../model/ids.ts';
import type { SourceAccess, SourceAccessState } from '../../model/snapshots/source-access.ts';
import { reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_NUMBER, NULLABLE_TEXT, SEALED, strictPart, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type SourceDocument = Omit<SourceAccess, 'id'> & { _id: string };

/** Which running sources may be looked at; `_id` = source id. Each is written by its own workflow's activities only. */
export class Sources {
  readonly #model: Model<SourceDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('sources');
    this.#model = connection.model<SourceDocument>('Source', sourceSchema(), 'sources');
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<SourceAccess | null> {
    checkId(id);
    const found = await reaching('read a source', () => this.#model.findById(id).lean<SourceDocument>());
    return found && this.#record(found);
  }

  /** All that were ever asked to be prepared under that name, by host. */
  async named(name: string): Promise<SourceAccess[]> {
    const found = await reaching('read sources', () =>
      this.#model.find({ name: String(name) }).lean<SourceDocument[]>(),
    );
    return this.#fields.records(found, recordOf).sort((a, b) => (a.hostId < b.hostId ? -1 : 1));
  }

  /** All that can be looked at. */
  prepared(): Promise<SourceAccess[]> {
    return this.in('prepared');
  }

  async in(state: SourceAccessState): Promise<SourceAccess[]> {
    const found = await reaching('read sources by state', () => this.#model.find({ state }).lean<SourceDocument[]>());
    return this.#fields.records(found, recordOf);
  }

  /** Changes what is known of a source, and answers with all of it; what is not known yet begins as nothing. */
  async change(
    { id, hostId, installationId = null, name }: Pick<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>,
    changes: Partial<Omit<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>>,
  ): Promise<SourceAccess> {
    checkId(id);
    if (!isHostId(hostId)) throw new MayflyError('invalid_id', 'That is not a host id.');
    const found = await reaching('record a source', () =>
      this.#model
        .findOneAndUpdate(
          { _id: id },
          { $set: { ...this.#fields.sealed(id, changes), hostId, installationId, name } },
          { upsert: true, returnDocument: 'after', runValidators: true },
        )
        .lean<SourceDocument>(),
    );
    return this.#record(found);
  }

  #record(document: SourceDocument): SourceAccess {
    return recordOf(this.#fields.opened(document));
  }
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

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSourceId(id)) throw new MayflyError('invalid_id', 'That is not a source id.');
}

function recordOf({ _id, ...rest }: SourceDocument): SourceAccess {
  return { id: _id, ...UNKNOWN, ...rest };
}

function sourceSchema(): Schema<SourceDocument> {
  const sshd = strictPart({ port: NULLABLE_NUMBER, hostKey: NAME, version: NAME });
  return strictSchema<SourceDocument>({
    _id: NAME,
    hostId: NAME,
    installationId: NULLABLE_TEXT,
    name: NAME,
    state: NAME,
    sshd: { type: sshd, default: null },
    gateVersion: NULLABLE_TEXT,
    changes: [String],
    preparedAt: NULLABLE_TEXT,
    preparedBy: { type: actorPart(), default: null },
    failure: { type: strictPart({ code: NAME, step: NAME, message: SEALED }), default: null },
    waitingFor: SEALED,
    updatedAt: NAME,
  });
}
