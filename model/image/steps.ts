import { sha256Hex } from '../digest.ts';
import { deriveOriginKey, deriveStepKey } from '../dockerfile/cache-key.ts';
import { BuildContext, type CopiedEntry } from '../dockerfile/context.ts';
import { type BuildPlan, type CopyStep, NO_SETTINGS, type Settings, type Step } from '../dockerfile/plan.ts';
import { readDockerfile } from '../dockerfile/read-dockerfile.ts';
import { Refusals, unsupportedAt } from '../dockerfile/refusal.ts';
import type { ImageRecord, ImageRequest } from './image.ts';
import type { ReadyCheck } from './ready.ts';
import type { MountedSecret } from './run-program.ts';
import { packProgram, unpackProgram } from './stage-copy.ts';
import { joinStages, type StageOrigin } from './stages.ts';
import { buildFinalProgram, buildStepProgram, type StepProgram } from './step-program.ts';

/** Executable step. */
export interface BuildStep {
  /** Null: the final step, which no line of the Dockerfile has. */
  line: number | null;
  text: string;
  /** Cache key of its result. */
  key: string;
  program: StepProgram;
  /** COPY from another stage: index in {@link Build.stages}, and the program to run there first. */
  copied: { stage: number; program: StepProgram } | null;
}

/** Part of a build in one sandbox: steps `first` to, but excluding, `end`. */
export interface BuildStage {
  origin: StageOrigin;
  first: number;
  end: number;
}

/** Executable plan of a build: stages in order, target last. */
export interface Build {
  /** Source of the target. */
  source: string;
  stages: BuildStage[];
  steps: BuildStep[];
  settings: Settings;
}

/** Outline of a build for display. */
export interface BuildOutline extends Pick<BuildPlan, 'unusedArgs' | 'ignored'> {
  stages: BuildStage[];
  steps: Pick<BuildStep, 'line' | 'text'>[];
  settings: Settings;
}

/** Contents of the sources; the id of the build when unknown. */
interface SourceContents extends Pick<ImageRecord, 'project' | 'content' | 'contents'> {}

/** Displayed characters of an instruction. */
const TEXT_LENGTH = 200;

/**
 * Expands a request into its steps. Deterministic, so nothing of it is stored.
 * @throws MayflyError dockerfile_unsupported
 */
export function expandBuild(request: ImageRequest, holding: SourceContents): Build {
  const refusals = new Refusals();
  const context = request.context && new BuildContext(request.context.entries, request.context.dockerignore);
  const given = { context, secrets: request.secrets ?? [] };
  const joined = joinStages(readDockerfile(request));
  const stages: BuildStage[] = [];
  const steps: BuildStep[] = [];
  /** Key of each stage's last step. */
  const ends: string[] = [];
  for (const { origin, steps: own, settings } of joined) {
    const first = steps.length;
    let key = 'source' in origin ? sourceKey(holding, origin.source) : (ends[origin.stage] ?? '');
    for (const step of own) {
      const made = refusals.attempt(() => expandStep(step, key, ends, given));
      if (!made) continue;
      steps.push(made);
      ({ key } = made);
    }
    if (stages.length === joined.length - 1) steps.push(lastStep(key, settings, request.ready ?? null));
    ends.push(key);
    stages.push({ origin, first, end: steps.length });
  }
  refusals.throwAll();
  const settings = joined.at(-1)?.settings ?? NO_SETTINGS;
  return { source: getRootSource(stages), stages, steps, settings };
}

/** Outlines a build without reading its context. @throws MayflyError dockerfile_unsupported */
export function outlineBuild(request: ImageRequest): BuildOutline {
  const plan = readDockerfile(request);
  const stages: BuildStage[] = [];
  const steps: BuildOutline['steps'] = [];
  const joined = joinStages(plan);
  for (const [place, { origin, steps: own }] of joined.entries()) {
    const first = steps.length;
    steps.push(...own.map(textOf));
    if (place === joined.length - 1) steps.push(LAST);
    stages.push({ origin, first, end: steps.length });
  }
  const { unusedArgs, ignored } = plan;
  return { stages, steps, settings: joined.at(-1)?.settings ?? NO_SETTINGS, unusedArgs, ignored };
}

/** Final step after all instructions. */
const LAST = { line: null, text: 'finish' };

function textOf(step: Step): Pick<BuildStep, 'line' | 'text'> {
  return { line: step.line, text: brief(step.text) };
}

/** Lists the sources of a build. */
export function listSources({ stages }: Pick<Build, 'stages'>): string[] {
  return [...new Set(stages.flatMap(({ origin }) => ('source' in origin ? [origin.source] : [])))];
}

/** Returns the source at the root of a stage. */
export function getRootSource(stages: readonly BuildStage[], place = stages.length - 1): string {
  const origin = stages[place]?.origin;
  if (!origin) throw unsupportedAt(1, 'there is no FROM');
  return 'source' in origin ? origin.source : getRootSource(stages, origin.stage);
}

function sourceKey({ project, content, contents }: SourceContents, source: string): string {
  return deriveOriginKey(project, contents?.find((each) => each.source === source)?.content ?? content);
}

/** Inputs of steps. */
interface StepInputs {
  context: BuildContext | null;
  secrets: NonNullable<ImageRequest['secrets']>;
}

function expandStep(step: Step, parent: string, ends: readonly string[], { context, secrets }: StepInputs): BuildStep {
  const said = textOf(step);
  if (step.kind === 'copy' && step.from !== null) {
    const key = deriveStepKey(parent, step, [], ends[step.from] ?? '');
    const copied = { stage: step.from, program: packProgram(step) };
    return { ...said, key, program: unpackProgram(step), copied };
  }
  const placed = step.kind === 'copy' ? resolveCopyEntries(step, context) : [];
  const program = buildStepProgram(step, placed, secretsFor(step, secrets));
  return { ...said, key: deriveStepKey(parent, step, placed, null), program, copied: null };
}

function lastStep(parent: string, settings: Settings, ready: ReadyCheck | null): BuildStep {
  const program = buildFinalProgram(settings, NO_SETTINGS.env, ready);
  const key = sha256Hex(JSON.stringify([parent, 'finish', program]));
  return { ...LAST, key, program, copied: null };
}

/** Selects the secrets of a step. @throws MayflyError dockerfile_unsupported when a required one is missing */
function secretsFor(step: Step, given: NonNullable<ImageRequest['secrets']>): MountedSecret[] {
  if (step.kind !== 'run') return [];
  return step.secrets.flatMap((mount) => {
    const found = given.find(({ id }) => id === mount.id);
    if (found) return [{ ...mount, bytes: found.bytes }];
    if (mount.isRequired) throw unsupportedAt(step.line, `the secret ${mount.id} is required, and not given`);
    return [];
  });
}

function resolveCopyEntries(step: CopyStep, context: BuildContext | null): CopiedEntry[] {
  if (step.sources.length === 0) return [];
  if (context) return context.placed(step);
  throw unsupportedAt(step.line, 'there is no context to copy from');
}

function brief(text: string): string {
  const [line = ''] = text.split('\n');
  return line.length > TEXT_LENGTH ? `${line.slice(0, TEXT_LENGTH)}…` : line;
}
