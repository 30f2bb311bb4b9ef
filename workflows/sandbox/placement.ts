import type { ActivityOptions } from '@temporalio/common';
import { CancellationScope, isCancellation, log, TimeoutFailure } from '@temporalio/workflow';
import type { Prepared } from '../../activities/sandbox/create.ts';
import { type CandidateHosts, type HostRef, includesHost, isSameHost } from '../../model/host.ts';
import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import { type CreateSteps, createSteps, hasFailedInFirstStep } from '../entity/create-steps.ts';
import { awaitHost } from '../entity/decommissioned-hosts.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { queuedControl } from '../saga/control.ts';
import { causeOf, failureOf } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import { canPreempt, retryAfterPreemption } from './preemption.ts';

/** Host that has prepared the sandbox. */
interface Placed {
  host: CreateSteps;
  clone: Prepared['clone'];
}

/** Host that is tried. */
interface Candidate {
  host: CreateSteps;
  prepare: () => Promise<Prepared>;
  /** Refusal; undefined: none yet. */
  refusal?: unknown;
}

/**
 * Placement of one sandbox: tries the hosts proposed by the API, then by placement, one at a time, until one accepts.
 * When all refuse, evicts pool members on hosts that lacked room.
 */
export class Placement {
  /** Hosts with uncompensated steps, the newest last. */
  #open: Candidate[] = [];

  constructor(
    private readonly entity: SandboxEntity,
    private readonly userCaKeys: string[],
  ) {}

  /** @throws the refusal of the last host, or the failure of another step */
  async prepare(): Promise<Placed> {
    const { entity } = this;
    const tried: HostRef[] = [];
    let refusal: unknown;
    for (const propose of entity.input.template ? [proposedHosts] : [proposedHosts, proposeHosts]) {
      const { hosts, content } = await propose(entity);
      for (const ref of hosts) {
        if (includesHost(tried, ref)) continue;
        tried.push(ref);
        const host = createSteps(entity, ref);
        const candidate: Candidate = { host, prepare: () => host.prepare(this.userCaKeys, content) };
        this.#open.push(candidate);
        const placed = await this.#try(candidate, candidate.prepare);
        if (placed) return placed;
        ({ refusal } = candidate);
        if (!canPreempt(entity, refusal)) await this.#compensate(candidate);
      }
    }
    for (const candidate of this.#open) {
      const prepare = () => retryAfterPreemption(entity, candidate.host.host, candidate.refusal, candidate.prepare);
      const placed = await this.#try(candidate, prepare);
      if (placed) return placed;
      ({ refusal } = candidate);
    }
    await this.#compensateAllBut(null);
    await entity.recordChange('sandbox.state', { hostId: null, installationId: null });
    throw refusal;
  }

  /** Compensates all candidates that are still open. */
  async compensate(): Promise<void> {
    for (const { host } of this.#open.toReversed()) {
      await host.removeWorkspace();
      await host.removeCredentials();
      await host.releaseReservation();
    }
  }

  /** @returns null when it refused */
  async #try(candidate: Candidate, prepare: () => Promise<Prepared>): Promise<Placed | null> {
    const { entity } = this;
    try {
      await recordCandidate(entity, candidate.host.host);
      const { clone } = await prepare();
      await this.#compensateAllBut(candidate);
      return { host: candidate.host, clone };
    } catch (error) {
      if (!isRefusal(failureOf(error, entity.failedStep))) throw error;
      candidate.refusal = error;
      return null;
    }
  }

  async #compensateAllBut(placed: Candidate | null): Promise<void> {
    for (const candidate of this.#open.filter((one) => one !== placed)) await this.#compensate(candidate);
  }

  /** Compensates a refused placement. Never waits for a silent host: that is compensated once it is back. */
  async #compensate(candidate: Candidate): Promise<void> {
    const { entity } = this;
    const { refusal, host } = candidate;
    const { cleanupMs } = entity.timeouts;
    const profile = PROFILE.firstTry(cleanupMs, entity.timeouts);
    const undo = () => removeFrom(entity, host.host, profile, !hasFailedInFirstStep(refusal));
    const isSilent = causeOf(refusal) instanceof TimeoutFailure;
    if (isSilent || !(await succeeds(undo))) compensateLater(entity, host.host);
    this.#open = this.#open.filter((one) => one !== candidate);
  }
}

/** Compensates on a silent host once it is back, in the background of the create and of later runs. */
export function compensateLater(entity: SandboxEntity, host: HostRef): void {
  const { state, timeouts } = entity;
  if (!includesHost(state.uncompensated, host)) state.uncompensated.push(host);
  const profile = PROFILE.undo(timeouts.cleanupMs, timeouts, 2 * timeouts.cleanupPauseMs);
  const compensate = async () => {
    await awaitHost(entity, host, () => removeFrom(entity, host, profile, true));
    state.uncompensated = state.uncompensated.filter((one) => !isSameHost(one, host));
  };
  CancellationScope.nonCancellable(compensate).catch((error: unknown) =>
    log.warn('a host that refused is not compensated', { sandboxId: entity.id, reason: String(error) }),
  );
}

/** Records a candidate before it is tried, so that the sandbox's end inspects it. */
async function recordCandidate(entity: SandboxEntity, host: HostRef): Promise<void> {
  if (isSameHost(entity.record, host)) return;
  const { hostId, installationId } = host;
  const otherCandidates = entity.record.askedHosts.filter((asked) => !isSameHost(asked, host));
  const askedHosts = [...otherCandidates, { hostId, installationId }];
  await entity.recordChange('sandbox.state', { hostId, installationId, askedHosts });
}

async function removeFrom(
  entity: SandboxEntity,
  host: HostRef,
  options: ActivityOptions,
  isAll: boolean,
): Promise<void> {
  const summary = `${entity.id} · ${host.hostId}, which refused it`;
  const on = onHost(host, { ...options, summary }, { sandboxId: entity.id, generation: CLEANUP_GENERATION });
  if (isAll) {
    await on.removeWorkspace();
    await on.removeCredentials();
  }
  await on.releaseReservation();
}

/** @throws CancelledFailure */
async function succeeds(run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return false;
  }
}

/** Returns the hosts proposed by the API; after a workflow reset, first the host of the earlier run. */
async function proposedHosts({ record, input: { hosts, content } }: SandboxEntity): Promise<CandidateHosts> {
  const host = getHost(record);
  return { hosts: host ? [host, ...hosts] : hosts, ...(content !== undefined && { content }) };
}

async function proposeHosts(entity: SandboxEntity): Promise<CandidateHosts> {
  const { spec, createdBy } = entity.record;
  entity.enter('placing');
  const wanted = { spec, sandboxId: entity.id, apiKeyId: createdBy.apiKeyId };
  return entity.measureStep('proposeHosts', () => queuedControl.proposeHosts(wanted));
}

/** Reports whether another host may accept: this one lacks room, or its worker never took the request. */
function isRefusal({ code, step }: SandboxFailure): boolean {
  if (step !== 'reserve') return false;
  return code === 'capacity_exhausted' || code === 'host_disk_full' || code === 'host_unavailable';
}
