import type { Connection } from 'mongoose';
import { isSnapshotId } from '../../model/ids.ts';
import { TEMPLATE_STATES, type TemplateRecord, type TemplateState } from '../../model/templates/template.ts';
import { actorPart, ENCRYPTED_TEXT, NAME, NULLABLE_NUMBER, NULLABLE_TEXT, NUMBER } from '../mongo/schema.ts';
import { RecordRepository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** The records of templates, one document each, `_id` = template id. None is ever removed. */
export class Templates extends RecordRepository<TemplateRecord> {
  constructor(connection: Connection, sealing: Sealing) {
    const definition = { collection: 'templates', noun: 'a template', isId: isSnapshotId, fields: templateFields() };
    super(connection, sealing, definition);
  }

  /** Writes all of a record, whatever the store has of it: its workflow is the only one that does. */
  async put({ id, ...rest }: TemplateRecord): Promise<void> {
    await this.overwrite({ ...rest, _id: this.checked(id) });
  }

  /** All that are in one of these states, the newest first. */
  async all(states: readonly TemplateState[]): Promise<TemplateRecord[]> {
    const found = await this.find({ state: { $in: [...states] } });
    return found.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
  }
}

function templateFields() {
  return {
    key: NAME,
    project: NAME,
    hostId: NAME,
    installationId: NAME,
    source: NAME,
    cpus: NULLABLE_NUMBER,
    memoryMib: NULLABLE_NUMBER,
    state: { type: String, required: true, enum: TEMPLATE_STATES },
    reason: ENCRYPTED_TEXT,
    retryAt: NULLABLE_TEXT,
    builderId: NAME,
    probeIds: [String],
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    savedAt: NULLABLE_TEXT,
    readyAt: NULLABLE_TEXT,
    wakes: NUMBER,
    lastUsedAt: NULLABLE_TEXT,
    sizeBytes: NULLABLE_NUMBER,
    waitingFor: ENCRYPTED_TEXT,
    updatedAt: NAME,
  };
}
