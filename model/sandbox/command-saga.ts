import type { HostRef } from '../host.ts';

/** Temporal workflow that supervises one command; its id is `command/<commandId>`. */
export const COMMAND_WORKFLOW = 'command';
/** Ids only: command line and environment are in the store, never in a payload. */
export interface CommandInput extends HostRef {
  commandId: string;
  sandboxId: string;
}
/** Signal with an {@link Actor} and an {@link EndSignal}: ends the command's whole process tree. */
export const CANCEL_COMMAND = 'cancel';

export function commandWorkflowIdOf(commandId: string): string {
  return `command/${commandId}`;
}
