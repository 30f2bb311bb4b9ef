import { z } from 'zod';
import type { RootImage } from '../dockerfile/root-image.ts';
import { actor, displayText, encryptedField, failure, instant, optional } from '../fields.ts';
import type { Network } from '../sandbox/sandbox.ts';
import type { ImageInput } from './image-saga.ts';
import type { ReadyCheck } from './ready.ts';
import type { ContextDescription } from './sent-context.ts';

/** Inputs of a build. */
export interface ImageRequest {
  dockerfile: string;
  args: Record<string, string>;
  target: string | null;
  aliases: Record<string, string>;
  network: Pick<Network, 'egress'>;
  /** Secrets with their lengths; values are stored separately until the build ends. `@default` none */
  secrets?: { id: string; bytes: number }[];
  /** Readiness check before a template is made. `@default` no check */
  ready?: ReadyCheck;
  /** Root file systems of the context used by FROM. `@default` none */
  roots?: RootImage[];
  /** Null: no context, so COPY has no files. Bytes are stored separately until the build ends. */
  context: ContextDescription | null;
}

const imageFailure = failure.extend({
  line: z.int().nullable().describe('Of the Dockerfile, where it is a step of it that failed'),
  exitCode: z.int().nullable(),
  log: z.string().nullable().describe('The end of what the step wrote'),
});
/** Failure of a build. */
export type ImageFailure = z.infer<typeof imageFailure>;

/**
 * queued → building → finishing → ready, or → failed, or → cancelled
 *
 * `building`: steps run in a sandbox. `finishing`: makes a source and, with a readiness check, its template. A failed
 * or cancelled build leaves only the snapshots of finished steps, which the next identical build reuses. Inserted by
 * the API, then written only by its workflow.
 */
export const imageRecord = z.object({
  id: z.string(),
  project: z.string(),
  name: z.string().describe('Of the source that it makes'),
  state: z.enum(['queued', 'building', 'finishing', 'ready', 'failed', 'cancelled']),
  request: encryptedField(z.custom<ImageRequest>()),
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
  failure: encryptedField(imageFailure).nullable(),
  waitingFor: displayText().nullable(),
  begin: optional(encryptedField(z.custom<ImageInput>())).describe(
    'What its workflow is begun with, by the API or, where that died before it could, by the reconciler',
  ),
  createdBy: actor,
  createdAt: instant,
  readyAt: instant.nullable(),
  updatedAt: instant,
});
export type ImageRecord = z.infer<typeof imageRecord>;

/** Lists the sandboxes of a build, except that of its bake. */
export function listBuildSandboxes({ builderId, stages = [], checkerId }: ImageRecord): string[] {
  return [...new Set([builderId, ...stages.map((stage) => stage.builderId), ...(checkerId ? [checkerId] : [])])];
}

/** Cached result of a step, reusable by any identical step. */
export const imageLayer = z.object({
  id: z.string().describe('Key of the step'),
  snapshotId: z.string(),
  createdAt: instant,
});
export type ImageLayer = z.infer<typeof imageLayer>;

export function isImageFinal(state: ImageRecord['state']): boolean {
  return state === 'ready' || state === 'failed' || state === 'cancelled';
}
