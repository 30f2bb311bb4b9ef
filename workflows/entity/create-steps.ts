import { ActivityFailure, ApplicationFailure, setHandler, TimeoutFailure } from '@temporalio/workflow';
import type { Prepared } from '../../activities/sandbox/create.ts';
import type { HostRef } from '../../model/host.ts';
import type { StepProgress } from '../../model/sagas/messages.ts';
import { isMultiStepFailure, isMultiStepHeartbeat } from '../../model/sandbox/multi-step.ts';
import type { StepTiming } from '../../model/sandbox/sandbox.ts';
import { onHost } from '../saga/host-activities.ts';
import { atStep } from '../saga/messages.ts';
import type { SandboxEntity } from './entity.ts';
import { bootMs, CREATE_GENERATION, cleanupSteps, startSteps, stepOptions } from './steps.ts';

/** Returns the two activities in which a host creates a sandbox, the steps between them, and their compensations. */
export function createSteps(entity: SandboxEntity, ref: HostRef) {
  const { hostId } = ref;
  const { id, timeouts } = entity;
  const { shownAfterMs } = timeouts;
  const { spec } = entity.record;
  const target = { sandboxId: id, generation: CREATE_GENERATION };
  /** Builds host activities. The host itself enforces each step's timeout; the profile covers a dead host. */
  const host = (withinMs: Record<string, number>, summary: string) => {
    const ms = Object.values(withinMs).reduce((sum, each) => sum + each, 0);
    return onHost(ref, stepOptions(entity, ms, summary));
  };

  return {
    ...cleanupSteps(entity, ref),
    ...startSteps(entity, ref),
    /** Runs reserve and cloneDisk. @param content expected digest of the source; undefined: any */
    prepare: (userCaKeys: string[], content: string | undefined) => {
      const withinMs = { reserve: timeouts.reserveMs, cloneDisk: timeouts.cloneDiskMs };
      const { source, snapshotId, captureId = null, cpus, memoryMib, network, boot = 'auto' } = spec;
      const disk = { source, snapshotId, captureId, cpus, memoryMib, egress: network.egress, userCaKeys };
      const summary = `${snapshotId ?? captureId ?? source} → ${id} on ${hostId}`;
      const input = {
        ...target,
        ...disk,
        boot,
        project: entity.record.project,
        isOffline: entity.isOffline,
        ...(content !== undefined && { content }),
        withinMs,
        shownAfterMs,
      };
      return reportingSteps(entity, 'reserve', () => host(withinMs, summary).prepare(input));
    },
    /** Runs bootDomain, awaitIp and verifySsh. */
    start: ({ user, hostKey, templateKey = null }: Prepared['clone'], certificate: string) => {
      const { awaitIpMs: awaitIp, verifySshMs: verifySsh } = timeouts;
      // waiting for a turn to wake, a failed wake, then a boot
      const bootDomain = bootMs(entity, CREATE_GENERATION) * (templateKey === null ? 1 : 3);
      const withinMs = { bootDomain, awaitIp, verifySsh };
      const input = { ...target, user, hostKey, certificate, withinMs, shownAfterMs };
      return reportingSteps(entity, 'bootDomain', () => host(withinMs, `${id} on ${hostId}`).start(input));
    },
  };
}

export type CreateSteps = ReturnType<typeof createSteps>;

/**
 * Runs an activity and records its steps: from the host's signals while it takes long, and from its result at the end.
 */
async function reportingSteps<T extends { steps: StepTiming[] }>(
  entity: SandboxEntity,
  firstStep: string,
  run: () => Promise<T>,
): Promise<T> {
  const before = entity.state.steps;
  let isOver = false;
  setHandler(atStep, async ({ phase, steps, ssh }: StepProgress) => {
    if (isOver) return;
    entity.state.steps = [...before, ...steps];
    await entity.recordChange('sandbox.state', { state: 'creating', phase, ...(ssh && { ssh }) });
  });
  try {
    const result = await run();
    entity.state.steps = [...before, ...result.steps];
    return result;
  } catch (error) {
    entity.failedStep = failedStepOf(error) ?? firstStep;
    throw error;
  } finally {
    isOver = true;
  }
}

/** Returns the step that failed; null when the activity did not report it. */
function failedStepOf(error: unknown): string | null {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  const said = cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : detailOf(error);
  return (isMultiStepHeartbeat(said) || isMultiStepFailure(said)) && said.step !== '' ? said.step : null;
}

/**
 * Reports whether the host started no step after the first, so only the first needs compensation: it may have failed
 * after its effect.
 */
export function hasFailedInFirstStep(error: unknown): boolean {
  const said = detailOf(error);
  return isMultiStepFailure(said) && said.isFirst;
}

function detailOf(error: unknown): unknown {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  return cause instanceof ApplicationFailure ? cause.details?.[0] : null;
}
