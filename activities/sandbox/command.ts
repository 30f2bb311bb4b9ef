import { Context } from '@temporalio/activity';
import type { CommandRuns } from '../../host/exec/command-runs.ts';
import { isMayflyError } from '../../model/errors.ts';
import type { EndSignal } from '../../model/sandbox/command.ts';
import { withHeartbeats } from '../step/step-context.ts';

/** Which command a host's activity is about; what it runs is in the store. */
interface CommandTarget {
  commandId: string;
  sandboxId: string;
}

/**
 * Commands on their host. Not steps of the sandbox: many run side by side, and none waits for its turn or overtakes
 * another.
 */
export function createCommandActivities({ commandRuns }: { commandRuns: CommandRuns }) {
  return {
    /**
     * Whatever stops this leaves the command as it is; the next attempt goes on with it. Of one that the store does
     * not know, since it was set back, no end is written down.
     */
    async runCommand({ commandId }: CommandTarget): Promise<void> {
      try {
        await whileBeating(commandId, commandRuns, commandRuns.runToEnd(commandId));
      } catch (error) {
        if (!isMayflyError(error, 'command_not_found')) throw error;
        if (await commandRuns.isKnown(commandId)) throw error;
      }
    },

    /** Ends a command's process tree, or keeps it from being started. */
    async cancelCommand({ commandId, signal }: CommandTarget & { signal: EndSignal }): Promise<void> {
      await whileBeating(commandId, commandRuns, commandRuns.cancel(commandId, signal));
    },
  };
}

/** Heartbeats, and stops waiting, not the command, when the activity is cancelled. */
async function whileBeating(commandId: string, commandRuns: CommandRuns, work: Promise<unknown>): Promise<void> {
  const doing = () => commandRuns.detailOf(commandId) ?? 'about to end';
  await withHeartbeats(doing, () => Promise.race([work, Context.current().cancelled]));
}
