import { z } from 'zod';
import { instant } from '../model/fields.ts';
import { repositoryOf } from './repository/repository.ts';

const periodicTask = z.object({
  id: z.string(),
  everyMs: z.int(),
  endedAt: instant,
  failure: z.string().min(0).describe("Why the last turn failed; '': it did not"),
});
/** Last run of a task that control workers repeat. */
export type PeriodicTaskState = Omit<z.infer<typeof periodicTask>, 'id'> & { name: string };

/** State of the periodic tasks of control workers; `_id` = name of the task, written by any of the workers. */
export class PeriodicTasks extends repositoryOf({
  collection: 'periodicTasks',
  noun: 'a task',
  isId: (name) => /^[a-z ]{1,40}$/.test(name),
  model: periodicTask,
}) {
  async report({ name, ...state }: PeriodicTaskState): Promise<void> {
    await this.write(this.checked(name), state);
  }

  async list(): Promise<PeriodicTaskState[]> {
    return (await this.find({}, { sort: { _id: 1 } })).map(({ id: name, ...state }) => ({ name, ...state }));
  }
}
