import type { Timeouts } from '../../sandbox/timeouts.ts';
import type { SetupTry } from './setup.ts';

/** Workflow of one setup; its id is {@link setupWorkflowIdOf}. Ends when there is nothing to do. */
export const SETUP_WORKFLOW = 'setup';

export interface SetupRef {
  project: string;
  /** Key of the setup. */
  setupKey: string;
}

/** Ids only: the specification is in the store. */
export interface SetupInput extends SetupRef {
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Signal without arguments: no version needs the setup. Compensates work in progress. */
export const SETUP_UNNEEDED = 'setupUnneeded';

/** Signal without arguments: a deployment needs the setup. A workflow about to end checks again. */
export const SETUP_WANTED = 'setupWanted';

export function setupWorkflowIdOf({ project, setupKey }: SetupRef): string {
  return `setup/${project}/${setupKey}`;
}

/** Pending work of a setup, and its last try, which may have left residue. */
export interface SetupLook {
  task: 'none' | 'prepare' | 'remove';
  last: SetupTry | null;
}

/** Next step after a try. */
export type NextOfSetup = { step: 'look' } | { step: 'again'; pauseMs: number };
