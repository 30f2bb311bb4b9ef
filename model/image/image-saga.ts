import type { HostRef } from '../host.ts';
import { commandIdFrom, idBytes, snapshotIdFrom } from '../ids.ts';
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
  /** In this order; none when all is done. */
  stages: ImageStageInput[];
  /** The sandbox in which it is asked whether the image is ready, and the id that its template shall have. `@default` nothing is asked */
  ready?: { checker: SandboxInput; templateId: string };
  /** So many of all steps were done before. */
  cached: number;
  /** Of the source that is made: `opn-…`, and the sandbox that is cleaned. */
  bakeId: string;
  bakerId: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** What is done in one sandbox. */
export interface ImageStageInput {
  /** Which of the stages that are needed, from 0. */
  place: number;
  builder: SandboxInput;
  /** Steps `first` to, but without, `end`; there may be none. */
  first: number;
  end: number;
  /** At the end of which other it begins, where its snapshot is not known before; null: `builder` says it all. */
  parent: number | null;
  /** Its steps that copy from another stage. */
  copies: { step: number; from: number }[];
  /** Its steps that take of a context which is kept by itself. `@default` none */
  sent?: number[];
  /** The last place at which something is copied from it: until then its sandbox lives. */
  until: number;
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
  /** `pack`: what a COPY of another stage has that stage do first. `ready`: of the last, what is asked of what it comes to. `@default` the step itself */
  part?: 'pack' | 'ready';
}

/** Where a step is done. */
export interface ImageStepPlace extends HostRef {
  sandboxId: string;
}

/** The same step, the same command. */
export function stepCommandId(step: ImageStepRef): string {
  return commandIdFrom(stepBytes(step, step.part ?? 'command'));
}

/** The same step, the same snapshot. */
export function stepSnapshotId(step: ImageStepRef): string {
  return snapshotIdFrom(stepBytes(step, 'snapshot'));
}

function stepBytes({ imageId, index }: ImageStepRef, what: string): Uint8Array {
  return idBytes(`${imageId}/${index}/${what}`);
}
