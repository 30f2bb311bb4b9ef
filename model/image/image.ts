import type { RootImage } from '../dockerfile/root-image.ts';
import type { ErrorCode } from '../errors.ts';
import type { Actor, Network } from '../sandbox/sandbox.ts';
import type { ReadyCheck } from './ready.ts';
import type { SentContext } from './sent-context.ts';

/**
 * queued → building → finishing → ready, or → failed, or → cancelled
 *
 * `building`: steps run in a sandbox. `finishing`: a source is made of what they came to, and its template, where it is asked whether it is ready. What has failed or was cancelled
 * has left nothing but the snapshots of the steps that were done, which the next build of the same begins at.
 */
export const IMAGE_STATES = ['queued', 'building', 'finishing', 'ready', 'failed', 'cancelled'] as const;
export type ImageState = (typeof IMAGE_STATES)[number];

/** What was asked for. */
export interface ImageRequest {
  dockerfile: string;
  args: Record<string, string>;
  target: string | null;
  aliases: Record<string, string>;
  network: Pick<Network, 'egress'>;
  /** Those that were given, and how long they are; what they say is kept apart, until the build is over. `@default` none */
  secrets?: { id: string; bytes: number }[];
  /** What holds before a template of it is made. `@default` nothing is asked */
  ready?: ReadyCheck;
  /** Root file systems of the context that it begins at. `@default` none */
  roots?: RootImage[];
  /** Null: there is none, and COPY has nothing to take from. Its bytes are kept apart, until the build is over. */
  context: SentContext | null;
}

/** Why an image was not built. */
export interface ImageFailure {
  code: ErrorCode;
  message: string;
  /** Of the Dockerfile, where it is a step of it that failed. */
  line: number | null;
  exitCode: number | null;
  /** The end of what the step has written. */
  log: string | null;
}

/** One stage of a build, that has a sandbox of its own. */
export interface ImageStage {
  /** Which of the stages that are needed, from 0. */
  place: number;
  builderId: string;
  /** The first of its steps, counted over all stages, that is done; those before are known. */
  first: number;
}

/** How far a build is. */
export interface ImageProgress {
  id: string;
  project: string;
  /** Of the source that it makes. */
  name: string;
  state: ImageState;
  /** Which the Dockerfile begins with. */
  source: string;
  /** The sandbox in which the steps of the target run. */
  builderId: string;
  /** So many were done by an earlier build, and are not done again. */
  cached: number;
  done: number;
  /** Of the last step that is done. */
  snapshotId: string | null;
  failure: ImageFailure | null;
  waitingFor: string | null;
  createdBy: Actor;
  createdAt: string;
  readyAt: string | null;
  updatedAt: string;
}

/** What a step came to, to be begun at by whoever asks for the same. `id` is the key of the step. */
export interface ImageLayer {
  id: string;
  snapshotId: string;
  createdAt: string;
}

export function isImageOver(state: ImageState): boolean {
  return state === 'ready' || state === 'failed' || state === 'cancelled';
}
