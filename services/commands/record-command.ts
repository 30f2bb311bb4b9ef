import type { CommandInputs, CommandRecord } from '../../model/sandbox/command.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import type { ProjectStore } from '../../store/project-store.ts';

/** Records a command with its inputs, for its workflow to start. Idempotent. */
export async function recordCommand(
  store: Pick<ProjectStore, 'commands' | 'commandInputs' | 'activity'>,
  record: CommandRecord,
  inputs: CommandInputs,
): Promise<CommandInput> {
  const { id: commandId, sandboxId, hostId, installationId } = record;
  await Promise.all([
    store.commands.create(record),
    store.commandInputs.keep(commandId, inputs),
    store.activity.openCommand(sandboxId, commandId),
  ]);
  return { commandId, sandboxId, hostId, installationId };
}
