import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isPlaybookId } from '../../model/ids.ts';
import { isPlaybookOver, PLAYBOOK_STATES, type PlaybookRecord } from '../../model/playbook/playbook.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, SEALED, strictSchema } from '../mongo/schema.ts';
import { olderThan, type Page, type PageQuery, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

const UNDER_WAY = PLAYBOOK_STATES.filter((state) => !isPlaybookOver(state));

type PlaybookDocument = Omit<PlaybookRecord, 'id'> & { _id: string };

/** The playbooks of sandboxes, one document each, `_id` = playbook id. */
export class Playbooks {
  readonly #model: Model<PlaybookDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('playbooks');
    this.#model = connection.model<PlaybookDocument>('Playbook', playbookSchema(), 'playbooks');
  }

  /** Writes one down, unless it is there. */
  async create({ id, ...rest }: PlaybookRecord): Promise<void> {
    checkId(id);
    const document = { ...this.#fields.sealed(id, rest), _id: id };
    try {
      await reaching('record a playbook', () => this.#model.create(document));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<PlaybookRecord | null> {
    checkId(id);
    const found = await reaching('read a playbook', () => this.#model.findById(id).lean<PlaybookDocument>());
    return found && this.#record(found);
  }

  /**
   * One page of those of a project, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list({ project, limit, cursor }: PageQuery): Promise<Page<PlaybookRecord>> {
    const filter = { project: String(project), ...olderThan(cursor, 'createdAt', isPlaybookId) };
    const found = await reaching('list playbooks', () =>
      this.#model
        .find(filter)
        .sort({ createdAt: -1, _id: -1 })
        .limit(limit + 1)
        .lean<PlaybookDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ createdAt }) => createdAt, recordOf });
  }

  /** Those of all projects that are not over. */
  async underWay(): Promise<PlaybookRecord[]> {
    const found = await Promise.all(
      UNDER_WAY.map((state) =>
        reaching('read the playbooks under way', () => this.#model.find({ state }).lean<PlaybookDocument[]>()),
      ),
    );
    return this.#fields.records(found.flat(), recordOf);
  }

  /**
   * Sets the given fields of one that is not over: how it ended stays, whoever comes later.
   * @throws MayflyError playbook_not_found
   */
  async update(id: string, changes: Partial<Omit<PlaybookRecord, 'id'>>): Promise<void> {
    checkId(id);
    const underWay = { _id: id, state: { $in: UNDER_WAY } };
    const { matchedCount } = await reaching('change a playbook', () =>
      this.#model.updateOne(underWay, { $set: this.#fields.sealed(id, changes) }, { runValidators: true }),
    );
    if (matchedCount > 0 || (await this.get(id))) return;
    throw new MayflyError('playbook_not_found', `There is no playbook ${id} in the store.`);
  }

  #record(document: PlaybookDocument): PlaybookRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...rest }: PlaybookDocument): PlaybookRecord {
  return { id: _id, ...rest };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isPlaybookId(id)) throw new MayflyError('invalid_id', 'That is not a playbook id.');
}

function playbookSchema(): Schema<PlaybookDocument> {
  return strictSchema<PlaybookDocument>({
    _id: NAME,
    project: NAME,
    sandboxId: NAME,
    state: { type: String, required: true, enum: PLAYBOOK_STATES },
    base: SEALED,
    checkerId: NAME,
    written: SEALED,
    check: SEALED,
    unchecked: SEALED,
    failure: SEALED,
    waitingFor: SEALED,
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    endedAt: NULLABLE_TEXT,
    updatedAt: NAME,
  });
}
