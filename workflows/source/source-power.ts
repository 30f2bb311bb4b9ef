import {
  CancellationScope,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import { FORCE_STOP, type SourcePowerInput, type SourcePowerResult } from '../../model/snapshots/source-power.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf, workflowFailure } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';

const POWER_EVENTS = {
  start: { step: 'startSource', begins: 'source.starting', done: 'source.started', failed: 'source.start-failed' },
  stop: { step: 'stopSource', begins: 'source.stopping', done: 'source.stopped', failed: 'source.stop-failed' },
} as const;
/** Margin above the guest's own time limit: the host inspects every disk of the machine. Milliseconds. */
const MARGIN_MS = 120_000;

const forceStop = defineSignal<[Actor]>(FORCE_STOP);

/**
 * Starts or stops a source:
 *
 *   audit event → startSource or stopSource → its host lists the new state → audit event of the outcome
 *
 * Nothing is compensated: a start that failed may have left it running, which a repeated request finds out.
 */
export async function sourcePower(input: SourcePowerInput): Promise<SourcePowerResult> {
  const { task } = input;
  const { step, begins, done, failed } = POWER_EVENTS[task];
  await appendEvent(input, begins, input.actor, { force: input.force });
  try {
    const powered = await untilCancelled(async () => {
      const outcome = task === 'start' ? await started(input) : await stopped(input);
      await awaitListed(input);
      return outcome;
    });
    await appendEvent(input, done, input.actor, { ...powered });
    return powered;
  } catch (error) {
    const failure = failureOf(error, step);
    await appendEvent(input, failed, input.actor, { failure });
    throw workflowFailure(failure);
  }
}

function started(input: SourcePowerInput): Promise<SourcePowerResult> {
  const { sourceAnswersMs: answersMs } = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
  return stepsOf(input, answersMs).startSource({ answersMs });
}

/** Stops it gracefully, until a signal forces it. */
async function stopped(input: SourcePowerInput): Promise<SourcePowerResult> {
  const { sourceStopMs: withinMs } = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
  const host = stepsOf(input, withinMs);
  let force = input.force;
  const gracefulStop = new CancellationScope();
  setHandler(forceStop, async (actor) => {
    await appendEvent(input, 'source.stopping', actor, { force: true });
    force = true;
    gracefulStop.cancel();
  });
  try {
    await gracefulStop.run(() => host.stopSource({ force, withinMs }));
  } catch (error) {
    if (!(force && isCancellation(error)) || CancellationScope.current().consideredCancelled) throw error;
    await host.stopSource({ force, withinMs });
  }
  return { guestAnswers: null };
}

/** @param stepMs the guest's share of the step's time */
function stepsOf(input: SourcePowerInput, stepMs: number) {
  const { sourceId, hostId, name } = input;
  const withinMs = stepMs + MARGIN_MS;
  const profile = PROFILE.step(withinMs, { totalMs: 3 * withinMs });
  // final: dependents of its disks will still be there in a second
  const retry = { ...profile.retry, nonRetryableErrorTypes: ['source_in_use'] };
  const generation = workflowInfo().startTime.getTime();
  const target = { sandboxId: `${sourceId}/power`, sourceId, generation, source: name };
  return onHost(input, { ...profile, retry, summary: `${name} on ${hostId}` }, target);
}

/**
 * Waits until the host lists the new state, so that the next clone or capture sees it. The wait is bounded for a silent
 * host.
 */
async function awaitListed({ hostId, name, task, timeouts }: SourcePowerInput): Promise<void> {
  const { sourceListedMs: withinMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  const { awaitPower } = proxyActivities<ControlActivities>(PROFILE.follow(withinMs + 30_000));
  await awaitPower({ hostId, name, isRunning: task === 'start', withinMs });
}

async function appendEvent(
  { sourceId, hostId, name, task }: SourcePowerInput,
  kind: AuditKind,
  actor: Actor,
  detail: Record<string, unknown>,
): Promise<void> {
  const isForced = kind === 'source.stopping' && detail['force'] === true;
  const unique = isForced ? `${kind}/force` : kind;
  const event = auditEvent(unique, { kind, actor, hostId, detail: { source: name, task, ...detail } });
  await CancellationScope.nonCancellable(() => controlUntilDone.rememberEvent({ sandboxId: sourceId, event }));
}
