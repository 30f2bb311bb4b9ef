import { Context } from '@temporalio/activity';
import type { CommandRuns } from '../../host/exec/command-runs.ts';
import { isMayflyError } from '../../model/errors.ts';
import type { EndSignal } from '../../model/sandbox/command.ts';
import { withHeartbeats } from '../step/step-context.ts';

/** Command of a host's activity; its spec is in the store. */
interface CommandTarget {
  commandId: string;
  sandboxId: string;
}

/** Activities for commands on their host. Not steps of the sandbox: commands run concurrently, outside its queue. */
export function createCommandActivities({ commandRuns }: { commandRuns: CommandRuns }) {
  return {
    /**
     * Runs a command to its end. An interruption leaves the command as it is, and the next attempt resumes. Succeeds
     * for a command that a restored store has lost, without recording its end.
     */
    async runCommand({ commandId }: CommandTarget): Promise<void> {
      try {
        await withCommandHeartbeats(commandId, commandRuns, commandRuns.runToEnd(commandId));
      } catch (error) {
        if (!isMayflyError(error, 'command_not_found')) throw error;
        if (await commandRuns.isKnown(commandId)) throw error;
      }
    },

    /** Ends a command's process tree, or prevents its start. */
    async cancelCommand({ commandId, signal }: CommandTarget & { signal: EndSignal }): Promise<void> {
      await withCommandHeartbeats(commandId, commandRuns, commandRuns.cancel(commandId, signal));
    },
  };
}

/** Heartbeats; a cancel of the activity ends the wait, not the command. */
async function withCommandHeartbeats(
  commandId: string,
  commandRuns: CommandRuns,
  work: Promise<unknown>,
): Promise<void> {
  const doing = () => commandRuns.detailOf(commandId) ?? 'about to end';
  await withHeartbeats(doing, () => Promise.race([work, Context.current().cancelled]));
}
