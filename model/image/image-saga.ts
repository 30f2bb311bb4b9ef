import type { HostRef } from '../host.ts';
import { commandIdFrom, deriveIdBytes, snapshotIdFrom } from '../ids.ts';
import type { SandboxInput } from '../sagas/messages.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';

/** Workflow of one build; its id is {@link imageWorkflowId}. */
export const IMAGE_WORKFLOW = 'image';
/** Ids and numbers only: the steps are in the record. */
export interface ImageInput {
  imageId: string;
  name: string;
  /** Starts from the source, or from the snapshot of the last cached step. */
  builder: SandboxInput;
  /** Index of the first step to run; all before it are cached. */
  first: number;
  steps: number;
  /** Snapshot of the last step when every step is cached, else null. */
  snapshotId: string | null;
  /** In build order; empty when every step is cached. */
  stages: ImageStageInput[];
  /** Sandbox of the readiness check, and the id of its template. `@default` no check */
  ready?: { checker: SandboxInput; templateId: string };
  /** Number of cached steps. */
  cached: number;
  /** Operation that makes the source (`opn-…`), and the sandbox to clean. */
  bakeId: string;
  bakerId: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Stage of a build, in one sandbox. */
export interface ImageStageInput {
  /** Index among the required stages, from 0. */
  place: number;
  builder: SandboxInput;
  /** Steps `first` to, but excluding, `end`; may be empty. */
  first: number;
  end: number;
  /** Stage at whose end it starts, when that snapshot is not known yet; null: `builder` is complete. */
  parent: number | null;
  /** Steps that copy from another stage. */
  copies: { step: number; from: number }[];
  /** Steps that read a separately stored context. `@default` none */
  sent?: number[];
  /** Last stage that copies from it; its sandbox lives until then. */
  until: number;
}

/** Signal with a {@link CancelImage}: stops the build and compensates it. */
export const CANCEL_IMAGE = 'cancelImage';
export interface CancelImage {
  /** A build with another id ignores the signal. */
  imageId: string;
  actor: Actor;
}

/** Key of Temporal's memo that holds the id of the running build. */
export const IMAGE_MEMO = 'image';

/** Derives the workflow id from the name: one build per name at a time. */
export function imageWorkflowId({ name }: Pick<ImageInput, 'name'>): string {
  return `image/${name}`;
}

/** Step of a build. */
export interface ImageStepRef {
  imageId: string;
  /** From 0. */
  index: number;
  /**
   * `pack`: preparation of a COPY in the other stage. `ready`: readiness check after the last step. `@default` the step
   * itself
   */
  part?: 'pack' | 'ready';
}

/** Location of a step. */
export interface ImageStepLocation extends HostRef {
  sandboxId: string;
}

/** Derives the command's id from its step. Deterministic. */
export function deriveStepCommandId(step: ImageStepRef): string {
  return commandIdFrom(stepBytes(step, step.part ?? 'command'));
}

/** Derives the snapshot's id from its step. Deterministic. */
export function deriveStepSnapshotId(step: ImageStepRef): string {
  return snapshotIdFrom(stepBytes(step, 'snapshot'));
}

function stepBytes({ imageId, index }: ImageStepRef, what: string): Uint8Array {
  return deriveIdBytes(`${imageId}/${index}/${what}`);
}
