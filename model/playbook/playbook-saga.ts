import type { HostRef } from '../host.ts';
import type { SandboxInput } from '../sagas/messages.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** Workflow of one playbook; its id is {@link playbookWorkflowIdOf}. */
export const PLAYBOOK_WORKFLOW = 'playbook';
/** Ids only: results are in the store. */
export interface PlaybookInput {
  playbookId: string;
  sandboxId: string;
  /** Host of the sandbox. */
  host: HostRef;
  /** Creation of the sandbox or of the snapshot, ISO 8601. */
  since: string;
  /** Base of both states, for display. */
  base: string;
  /** Fresh sandbox. */
  checker: SandboxInput;
  /** Snapshot ids of the sandbox, of the fresh one, and of the fresh one after applying. */
  snapshots: Record<PlaybookSnapshot, string>;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

export type PlaybookSnapshot = 'now' | 'fresh' | 'applied';

/** Signal with an {@link Actor}: stops the playbook, and deletes its sandbox and snapshots. */
export const CANCEL_PLAYBOOK = 'cancelPlaybook';

export function playbookWorkflowIdOf(playbookId: string): string {
  return `playbook/${playbookId}`;
}
