import type { Store } from '../../store/connect.ts';

/** Reads the state of a task's command that another workflow has started. */
export function createTaskCommandActivities({ store }: { store: Pick<Store, 'commands'> }) {
  return {
    /** Returns whether it has ended, or is not there any more. */
    async isCommandOver({ commandId }: { commandId: string }): Promise<boolean> {
      const record = await store.commands.get(commandId);
      return !record || record.state === 'ended';
    },
  };
}
