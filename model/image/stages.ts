import type { BuildPlan, Settings, Stage, Step } from '../dockerfile/plan.ts';
import { unsupportedAt } from '../dockerfile/refusal.ts';
import { LIMITS } from '../limits.ts';

/** Base of a joined stage: a source, or the end of another joined stage. */
export type StageOrigin = { source: string } | { stage: number };

/** Stages of a Dockerfile that run one after the other in one sandbox. */
interface JoinedStage {
  origin: StageOrigin;
  /** Steps; `from` of a COPY is an index of an earlier joined stage. */
  steps: Step[];
  settings: Settings;
}

interface JoinGroup {
  origin: Stage['from'];
  members: Stage[];
}

/**
 * Joins the required stages, target last: a stage used by a single FROM only runs in the sandbox of the stage that
 * starts from it.
 * @throws MayflyError dockerfile_unsupported
 */
export function joinStages({ stages }: BuildPlan): JoinedStage[] {
  let joined: JoinGroup[] = [];
  for (const stage of stages) {
    const { from } = stage;
    // a stage on a root needs a machine booted from that root
    const isRoot = 'stage' in from && from.stage < 0;
    const before =
      !isRoot && 'stage' in from && countUsers(stages, from.stage) === 1 ? ofMember(joined, from.stage) : undefined;
    if (before)
      joined = [...joined.filter((each) => each !== before), { ...before, members: [...before.members, stage] }];
    else joined.push({ origin: from, members: [stage] });
  }
  const beyond = joined[LIMITS.image.stages]?.members[0];
  if (beyond) throw unsupportedAt(beyond.line, `more than ${LIMITS.image.stages} stages are needed`);
  const placeOf = (index: number) => joined.findIndex(({ members }) => members.some((each) => each.index === index));
  return joined.map(({ origin, members }) => ({
    origin: 'source' in origin ? origin : { stage: placeOf(origin.stage) },
    steps: members
      .flatMap(({ steps }) => steps)
      .map((step) => (step.kind === 'copy' && step.from !== null ? { ...step, from: placeOf(step.from) } : step)),
    settings: members.at(-1)?.settings ?? refuseEmpty(),
  }));
}

function refuseEmpty(): never {
  throw unsupportedAt(1, 'there is no FROM');
}

function ofMember(joined: readonly JoinGroup[], index: number): JoinGroup | undefined {
  return joined.find(({ members }) => members.at(-1)?.index === index);
}

function countUsers(stages: readonly Stage[], index: number): number {
  const begun = stages.filter(({ from }) => 'stage' in from && from.stage === index).length;
  const copied = stages
    .flatMap(({ steps }) => steps)
    .filter((step) => step.kind === 'copy' && step.from === index).length;
  return begun + copied;
}
