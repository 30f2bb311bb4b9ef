import type { Connection } from 'mongoose';
import { NAME, NUMBER } from './mongo/schema.ts';
import { Repository } from './repository/repository.ts';
import type { Sealing } from './sealed/sealing.ts';

/** Last turns of work that control workers repeat. */
export interface PeriodicTaskState {
  name: string;
  everyMs: number;
  /** ISO 8601. */
  endedAt: string;
  /** Why the last turn failed; '': it did not. */
  failure: string;
}

/** State of the periodic work of control workers; `_id` = name of the task, any of the workers writes it. */
export class PeriodicTasks extends Repository<Omit<PeriodicTaskState, 'name'>> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { everyMs: NUMBER, endedAt: NAME, failure: { type: String, default: '' } };
    const isId = (name: string) => /^[a-z ]{1,40}$/.test(name);
    super(connection, sealing, { collection: 'periodicTasks', noun: 'a task', fields, isId });
  }

  async report({ name, ...state }: PeriodicTaskState): Promise<void> {
    await this.write(this.checked(name), state);
  }

  async list(): Promise<PeriodicTaskState[]> {
    const found = await this.documents({}, { sort: { _id: 1 } });
    return found.map(({ _id, everyMs, endedAt, failure }) => ({ name: _id, everyMs, endedAt, failure }));
  }
}
