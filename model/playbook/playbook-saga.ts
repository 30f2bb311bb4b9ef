import type { HostRef } from '../host.ts';
import type { SandboxInput } from '../sagas/messages.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** The workflow of one playbook; its id is {@link playbookWorkflowIdOf}. */
export const PLAYBOOK_WORKFLOW = 'playbook';
/** Ids: what is found out stands in the store. */
export interface PlaybookInput {
  playbookId: string;
  sandboxId: string;
  /** Where the sandbox is. */
  host: HostRef;
  /** When the sandbox was made, or the snapshot was taken; ISO 8601. */
  since: string;
  /** What both states come from, for people. */
  base: string;
  /** The fresh sandbox. */
  checker: SandboxInput;
  /** Of the sandbox as it is, of the fresh one, and of that when the playbook was applied. */
  snapshots: Record<PlaybookSnapshot, string>;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

export type PlaybookSnapshot = 'now' | 'fresh' | 'applied';

/** Signal with an {@link Actor}: nothing more is done, and its sandbox and snapshots go. */
export const CANCEL_PLAYBOOK = 'cancelPlaybook';

export function playbookWorkflowIdOf(playbookId: string): string {
  return `playbook/${playbookId}`;
}
