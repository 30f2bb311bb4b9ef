import type { Timeouts } from '../../sandbox/timeouts.ts';
import type { SetupTry } from './setup.ts';

/** Workflow of one setup; its id is {@link setupWorkflowId}. Ends when there is nothing to do. */
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
export const RELEASE_SETUP = 'setupUnneeded';

/** Signal without arguments: a deployment needs the setup. A workflow about to end checks again. */
export const REQUEST_SETUP = 'setupWanted';

export function setupWorkflowId({ project, setupKey }: SetupRef): string {
  return `setup/${project}/${setupKey}`;
}

/** Pending work of a setup, and its last try, which may have left residue. */
export interface SetupTask {
  task: 'none' | 'prepare' | 'remove';
  last: SetupTry | null;
}

/** Next step after a try. */
export type SetupNextStep = { step: 'look' } | { step: 'again'; pauseMs: number };
