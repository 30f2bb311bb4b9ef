import { z } from 'zod';
import type { RootImage } from '../dockerfile/root-image.ts';
import { actor, encrypted, failure, instant, optional, shownText } from '../fields.ts';
import type { Network } from '../sandbox/sandbox.ts';
import type { ImageInput } from './image-saga.ts';
import type { ReadyCheck } from './ready.ts';
import type { SentContext } from './sent-context.ts';

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

const imageFailure = failure.extend({
  line: z.int().nullable().describe('Of the Dockerfile, where it is a step of it that failed'),
  exitCode: z.int().nullable(),
  log: z.string().nullable().describe('The end of what the step wrote'),
});
/** Why an image was not built. */
export type ImageFailure = z.infer<typeof imageFailure>;

/**
 * queued → building → finishing → ready, or → failed, or → cancelled
 *
 * `building`: steps run in a sandbox. `finishing`: a source is made of what they came to, and its template, where it is asked whether it is ready. What has failed or was cancelled
 * has left nothing but the snapshots of the steps that were done, which the next build of the same begins at.
 * The record of one build is inserted by the API, from then on written by its workflow alone.
 */
export const imageRecord = z.object({
  id: z.string(),
  project: z.string(),
  name: z.string().describe('Of the source that it makes'),
  state: z.enum(['queued', 'building', 'finishing', 'ready', 'failed', 'cancelled']),
  request: encrypted(z.custom<ImageRequest>()),
  source: z.string().describe('Which the Dockerfile begins with'),
  content: z
    .string()
    .describe(
      'What the source holds; where nobody knows yet, the id of the build, so that nothing of it is found again',
    ),
  builderId: z
    .string()
    .describe('The sandbox of the last stage; each step has its own, and its command the output, live'),
  contents: optional(z.array(z.object({ source: z.string(), content: z.string() }))).describe(
    'What all sources hold, when there are several stages. Absent: there is one, which holds `content`',
  ),
  stages: optional(
    z.array(
      z.object({
        place: z.int().describe('Which of the stages that are needed, from 0'),
        builderId: z.string(),
        first: z
          .int()
          .describe('The first of its steps, counted over all stages, that is done; those before are known'),
      }),
    ),
  ).describe('Those stages of which something is done, or copied. Absent: one, in `builderId`'),
  checkerId: optional(z.string()).describe('The sandbox in which `ready` is asked. Absent: there is none'),
  steps: z.int(),
  cached: z.int().describe('So many steps had been done before'),
  done: z.int(),
  snapshotId: z.string().nullable().describe('Of the last step that is done'),
  failure: encrypted(imageFailure).nullable(),
  waitingFor: shownText().nullable(),
  begin: optional(encrypted(z.custom<ImageInput>())).describe(
    'What its workflow is begun with, by the API or, where that died before it could, by the reconciler',
  ),
  createdBy: actor,
  createdAt: instant,
  readyAt: instant.nullable(),
  updatedAt: instant,
});
export type ImageRecord = z.infer<typeof imageRecord>;

/** All that a build has for itself, but for what its bake has. */
export function sandboxesOf({ builderId, stages = [], checkerId }: ImageRecord): string[] {
  return [...new Set([builderId, ...stages.map((stage) => stage.builderId), ...(checkerId ? [checkerId] : [])])];
}

/** What a step came to, to be begun at by whoever asks for the same. */
export const imageLayer = z.object({
  id: z.string().describe('Key of the step'),
  snapshotId: z.string(),
  createdAt: instant,
});
export type ImageLayer = z.infer<typeof imageLayer>;

export function isImageOver(state: ImageRecord['state']): boolean {
  return state === 'ready' || state === 'failed' || state === 'cancelled';
}
