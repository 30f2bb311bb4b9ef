import type { SandboxInput } from '../sagas/messages.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** The workflow of one build; its id is {@link imageWorkflowIdOf}. */
export const IMAGE_WORKFLOW = 'image';
/** Ids and numbers: what is run stands in the record. */
export interface ImageInput {
  imageId: string;
  name: string;
  /** From the source, or from the snapshot of the last step that need not be done again. */
  builder: SandboxInput;
  /** Steps before this one need not be done again. */
  first: number;
  steps: number;
  /** Of that last step; null: all are done. */
  snapshotId: string | null;
  /** Of the source that is made: `opn-…`, and the sandbox that is cleaned. */
  bakeId: string;
  bakerId: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Signal with a {@link CancelImage}: nothing more is done, and all of it is undone. */
export const CANCEL_IMAGE = 'cancelImage';
export interface CancelImage {
  /** Another build of that name is not meant. */
  imageId: string;
  actor: Actor;
}

/** Where the id of the build that runs is told to whoever finds it running: Temporal's memo. */
export const IMAGE_MEMO = 'image';

/** One build of a name at a time. */
export function imageWorkflowIdOf({ name }: Pick<ImageInput, 'name'>): string {
  return `image/${name}`;
}

/** One step of a build. */
export interface ImageStepRef {
  imageId: string;
  /** From 0. */
  index: number;
}
