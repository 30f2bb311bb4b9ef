import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { originKey, stepKey } from '../dockerfile/cache-key.ts';
import { BuildContext, type Placed } from '../dockerfile/context.ts';
import {
  type BuildPlan,
  type CopyStep,
  NO_SETTINGS,
  type Settings,
  type Stage,
  type Step,
} from '../dockerfile/plan.ts';
import { readDockerfile } from '../dockerfile/read-dockerfile.ts';
import { refusedAt } from '../dockerfile/refusal.ts';
import type { ImageRecord, ImageRequest } from './image.ts';
import { finishing, programOf, type StepProgram } from './step-program.ts';

/** One step as it is done. */
export interface BuildStep {
  /** Null: of the last, which is in no Dockerfile. */
  line: number | null;
  text: string;
  /** Of what it comes to. */
  key: string;
  program: StepProgram;
}

/** What a build does, one step after the other, in one sandbox. */
export interface Build {
  source: string;
  steps: BuildStep[];
  settings: Settings;
  unusedArgs: string[];
}

/** Of an instruction, for whoever watches. Characters. */
const TEXT_LENGTH = 200;

/**
 * What is asked for, taken apart: the same whenever it is asked, so that nothing of it need be kept.
 * @throws MayflyError dockerfile_unsupported
 */
export function buildOf(request: ImageRequest, { project, content }: Pick<ImageRecord, 'project' | 'content'>): Build {
  const plan = readDockerfile(request);
  const { source, chain } = chainOf(plan);
  const settings = chain.at(-1)?.settings ?? NO_SETTINGS;
  const steps: BuildStep[] = [];
  let key = originKey(project, content);
  const context = request.context && new BuildContext(request.context.entries, request.context.dockerignore);
  for (const step of chain.flatMap((stage) => stage.steps)) {
    refuseUndone(step);
    const placed = step.kind === 'copy' ? placedBy(step, context) : [];
    key = stepKey(key, step, placed, null);
    steps.push({ line: step.line, text: brief(step.text), key, program: programOf(step, placed) });
  }
  const last = finishing(settings, NO_SETTINGS.env);
  key = bytesToHex(sha256(utf8ToBytes(JSON.stringify([key, 'finish', last]))));
  steps.push({ line: null, text: 'finish', key, program: last });
  return { source, steps, settings, unusedArgs: plan.unusedArgs };
}

/** The target and the stages that it begins at, the first one first. */
function chainOf({ stages }: BuildPlan): { source: string; chain: Stage[] } {
  const chain: Stage[] = [];
  let stage = stages.at(-1);
  while (stage) {
    chain.unshift(stage);
    const { from } = stage;
    if ('source' in from) return { source: from.source, chain };
    stage = stages.find(({ index }) => index === from.stage);
  }
  throw refusedAt(1, 'there is no FROM');
}

function refuseUndone(step: Step): void {
  if (step.kind === 'run' && step.secrets.length > 0) throw refusedAt(step.line, 'builds are given no secrets yet');
  if (step.kind !== 'copy') return;
  if (step.from !== null) throw refusedAt(step.line, 'COPY --from is not done yet');
}

function placedBy(step: CopyStep, context: BuildContext | null): Placed[] {
  if (step.sources.length === 0) return [];
  if (context) return context.placed(step);
  throw refusedAt(step.line, 'there is no context to copy from');
}

function brief(text: string): string {
  const [line = ''] = text.split('\n');
  return line.length > TEXT_LENGTH ? `${line.slice(0, TEXT_LENGTH)}…` : line;
}
