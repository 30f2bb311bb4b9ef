import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { CommandInputs, CommandRecord } from '../../model/sandbox/command.ts';
import type { AgentCommands, CommandStatus } from './agent-commands.ts';
import { type CommandEnd, notStartedEnd, unknownEnd } from './command-ending.ts';

/** Failures that leave it unknown whether a command was started. All other failures of a start mean that it was not. */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set([
  'guest_unreachable',
  'guest_failed',
  'host_key_mismatch',
  'host_unavailable',
]);

/** @param withheld end of a command whose start is prevented, else null */
export async function ensureStarted(
  { id, state, spec }: CommandRecord,
  commands: AgentCommands,
  inputs: CommandInputs | null,
  withheld: () => CommandEnd | null,
): Promise<CommandStatus | CommandEnd> {
  try {
    const mayStart = state === 'requested' && inputs !== null && !withheld();
    return await (mayStart ? commands.start(id, spec, inputs) : commands.status(id));
  } catch (error) {
    if (!(error instanceof MayflyError) || NO_ANSWER.has(error.code)) throw error;
    if (state === 'running') return unknownEnd('The guest knows nothing of it any more.');
    if (error.code !== 'command_not_found') return notStartedEnd(error.code, error.message);
    return withheld() ?? notStartedEnd('internal', 'What it needed for its start is not in the store any more.');
  }
}
