import type { Store } from '../../store/connect.ts';
import { until } from '../step/until.ts';

/** What a task asks of a command that somebody else has begun for it. */
export function createTaskCommandActivities({ store }: { store: Pick<Store, 'commands'> }) {
  return {
    /** Resolves when it has ended, or is not there any more. */
    async awaitCommandEnd({ commandId }: { commandId: string }): Promise<void> {
      await until(async () => {
        const record = await store.commands.get(commandId);
        return !record || record.state === 'ended' ? true : null;
      });
    },
  };
}
