import mongoose, { type Connection } from 'mongoose';
import type { HookFilter } from '../../model/events/hook-filter.ts';
import { isHookId } from '../../model/ids.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { SignatureScheme } from '../../model/webhooks/signature-scheme.ts';
import { byAge } from '../mongo/by-age.ts';
import { actorPart, ENCRYPTED, NAME, NULLABLE_TEXT } from '../mongo/schema.ts';
import { RecordRepository } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { FunctionRef } from './functions.ts';

/** A way in for signed events from outside, to one function. */
export interface HookRecord {
  id: string;
  project: string;
  function: string;
  /** How a sender shows who it is. */
  scheme: SignatureScheme;
  /** One; two while it is rotated. */
  secrets: string[];
  /** Null: all events are run. */
  filter: HookFilter | null;
  /** Who may ask whether events may be sent (CloudEvents, "HTTP 1.1 Web Hooks" §4); `*`: anybody. */
  allowedOrigins: string[];
  /** ISO 8601; null: it takes events. */
  disabledAt: string | null;
  createdBy: Actor;
  createdAt: string;
}

export type HookChanges = Partial<Pick<HookRecord, 'secrets' | 'disabledAt'>>;

/** Hooks of functions, one document each. */
export class Hooks extends RecordRepository<HookRecord> {
  constructor(connection: Connection, sealing: Sealing) {
    super(connection, sealing, { collection: 'hooks', noun: 'a hook', isId: isHookId, fields: hookFields() });
  }

  /** @returns false: there is one of that id */
  async create(hook: HookRecord): Promise<boolean> {
    return this.insertRecord(hook);
  }

  /** Those of a function, the oldest first. @param unreadable takes those that cannot be read */
  async list({ project, name }: FunctionRef, unreadable?: Unreadable[]): Promise<HookRecord[]> {
    return (await this.find({ project, function: name }, { unreadable })).sort(byAge);
  }

  /** @returns whether there is one */
  async change(id: string, changes: HookChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id) }, changes);
  }

  /** Also one that cannot be read. @param of what holds of it @returns whether there was one */
  async remove(id: string, of: Partial<Pick<HookRecord, 'project'>> = {}): Promise<boolean> {
    return this.deleteOne({ _id: this.checked(id), ...of });
  }

  /** Removes all of a function. */
  async removeOf({ project, name }: FunctionRef): Promise<void> {
    await this.deleteAll({ project, function: name });
  }
}

function hookFields() {
  return {
    project: NAME,
    function: NAME,
    scheme: { type: mongoose.Schema.Types.Mixed, required: true },
    secrets: ENCRYPTED,
    filter: ENCRYPTED,
    allowedOrigins: [String],
    disabledAt: NULLABLE_TEXT,
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
  };
}
