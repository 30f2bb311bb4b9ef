import { operationIdFrom, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import type { ImageRequest } from '../../model/image/image.ts';
import type { ImageInput, ImageStageInput } from '../../model/image/image-saga.ts';
import { needsUpload } from '../../model/image/step-program.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { actorOf, deriveId, type IdempotentCall } from '../idempotent-call.ts';
import { ownSandboxInput } from '../sandboxes/own-sandbox.ts';
import type { Origin } from '../sandboxes/placement.ts';
import type { BuildStart, StageStart } from './beginning.ts';

/** TTL of a builder, longer than any build: the last resort against a leaked one, s. */
const TTL_SECONDS = 18_000;

/** Returns the input of the workflow of a build. All ids are derived from that of the build. */
export function buildInput(
  call: IdempotentCall,
  name: string,
  beginning: BuildStart,
  { context, ready }: Pick<ImageRequest, 'context' | 'ready'>,
): ImageInput {
  const { subjectId: id, apiKey } = call;
  const actor = actorOf(call);
  const isSent = context?.digest !== undefined;
  const { build, snapshotId, origin } = beginning;
  const at = new Date().toISOString();
  const target = build.stages.length - 1;
  const ownOf = (what: string, from: Origin, purpose: string) => {
    const sandboxId = deriveId(sandboxIdFrom, id, what);
    const own = {
      id: sandboxId,
      origin: from,
      requestedAt: at,
      ttlSeconds: TTL_SECONDS,
      purpose,
      builds: 'image',
    } as const;
    return ownSandboxInput(apiKey, actor, own);
  };
  const builderOf = (place: number, from: Origin) =>
    ownOf(place === target ? 'builder' : `builder/${place}`, from, `builds the image ${name}`);
  const stages = beginning.stages.map((stage) =>
    stageInput(beginning, stage, builderOf(stage.place, stage.origin), isSent),
  );
  const left = stages.reduce((all, { first, end }) => all + end - first, 0);
  const steps = build.steps.length;
  const { builder, first } = stages.at(-1) ?? { builder: builderOf(target, origin), first: steps };
  const alone = { ...origin, network: { egress: 'none' } as const };
  const checker = ownOf('checker', alone, `asks whether the image ${name} is ready`);
  const further = {
    bakeId: deriveId(operationIdFrom, id, 'bake'),
    bakerId: deriveId(sandboxIdFrom, id, 'baker'),
    ...(ready && { ready: { checker, templateId: deriveId(snapshotIdFrom, id, 'template') } }),
  };
  const cached = steps - left;
  return { imageId: id, name, builder, first, steps, snapshotId, stages, cached, ...further, actor };
}

function stageInput(
  { build, stages }: BuildStart,
  stage: StageStart,
  builder: SandboxInput,
  isSent: boolean,
): ImageStageInput {
  const { place, first, parent } = stage;
  const copiesOf = ({ place: of, first: from }: StageStart) => {
    const end = build.stages[of]?.end ?? from;
    return build.steps
      .slice(from, end)
      .flatMap(({ copied }, at) => (copied ? [{ step: from + at, from: copied.stage }] : []));
  };
  const users = stages.filter((other) => copiesOf(other).some(({ from }) => from === place));
  const until = Math.max(place, ...users.map((user) => user.place));
  const end = build.stages[place]?.end ?? first;
  const taking = build.steps
    .slice(first, end)
    .flatMap(({ program }, at) => (needsUpload(program, isSent) ? [first + at] : []));
  const sent = isSent || taking.length > 0 ? { sent: taking } : {};
  return { place, builder, first, end, parent, copies: copiesOf(stage), until, ...sent };
}
