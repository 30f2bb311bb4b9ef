import type { Timeouts } from '../../sandbox/timeouts.ts';
import type { SetupTry } from './setup.ts';

/** The workflow of one setup; its id is {@link setupWorkflowIdOf}. It ends when there is nothing to do. */
export const SETUP_WORKFLOW = 'setup';

export interface SetupRef {
  project: string;
  /** Of a setup. */
  setupKey: string;
}

/** Ids only: what is done is in the store. */
export interface SetupInput extends SetupRef {
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Signal, no arguments: no version needs it any more. What is under way is undone. */
export const SETUP_UNNEEDED = 'setupUnneeded';

/** Signal, no arguments: a deploy needs it now. A workflow that is about to end looks once more. */
export const SETUP_WANTED = 'setupWanted';

export function setupWorkflowIdOf({ project, setupKey }: SetupRef): string {
  return `setup/${project}/${setupKey}`;
}

/** What is to be done with a setup, and the last try, of which something may be left. */
export interface SetupLook {
  task: 'none' | 'prepare' | 'remove';
  last: SetupTry | null;
}

/** What is done after a try. */
export type NextOfSetup = { step: 'look' } | { step: 'again'; pauseMs: number };
