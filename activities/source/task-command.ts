import type { Store } from '../../store/connect.ts';

/** Activity that reads the state of a task's command that another workflow has started. */
export function createTaskCommandActivities({ store }: { store: Pick<Store, 'commands'> }) {
  return {
    /** Reports whether it has ended, or has no record. */
    async isCommandOver({ commandId }: { commandId: string }): Promise<boolean> {
      const record = await store.commands.get(commandId);
      return !record || record.state === 'ended';
    },
  };
}
