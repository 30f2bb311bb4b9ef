import type { HostRef } from '../host.ts';

/** The Temporal workflow that sees one command to its end; its id is `command/<commandId>`. */
export const COMMAND_WORKFLOW = 'command';
/** Ids only: what it runs, and with which environment, is in the store and never in a payload. */
export interface CommandInput extends HostRef {
  commandId: string;
  sandboxId: string;
}
/** Signal with an {@link Actor} and an {@link EndSignal}: ends the command's whole process tree. */
export const CANCEL_COMMAND = 'cancel';

export function commandWorkflowIdOf(commandId: string): string {
  return `command/${commandId}`;
}
