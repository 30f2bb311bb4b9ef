import { getRequestedCommands } from '../../../model/approvals/command-pattern.ts';
import type { PolicyFacts } from '../../../model/approvals/policy.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { FunctionSpec } from '../../../model/functions/function.ts';
import { type Attempt, getLastAttempt, type RunRecord } from '../../../model/functions/run.ts';
import type { RunInput } from '../../../model/functions/run-saga.ts';
import type { HostRef } from '../../../model/host.ts';
import type { Size } from '../../../model/project-limits.ts';
import type { SandboxSpec } from '../../../model/sandbox/sandbox.ts';
import { getHost } from '../../../model/sandbox/sandbox-state.ts';
import { getSourceSize } from '../../../model/source-content.ts';
import type { Store } from '../../../store/connect.ts';
import type { SagaDeps } from '../../step/saga-deps.ts';
import { acceptedSpec, goneVersion } from '../accepted-version.ts';
import { requireRun } from '../known-attempt.ts';
import { admitSandbox, type Place } from '../prepared/admitted-sandbox.ts';
import { type AttemptClaim, claimMember } from '../prepared/claimed-member.ts';
import { refuseByPolicy } from '../prepared/policy.ts';
import { resolveSpec } from '../prepared/prepared-spec.ts';
import { requireSecrets } from './given-secrets.ts';

export interface AttemptSandbox {
  sandboxId: string;
  /** True for a claimed member of a pool, which already runs. */
  isMember: boolean;
  /** Host; absent: not placed yet. */
  host?: HostRef;
  spec: SandboxSpec;
  size: Size;
}

/** TTL of an attempt's sandbox that its workflow fails to destroy: the maximum. Seconds. */
const TTL_SECONDS = 2_592_000;

export function createAttemptSandboxActivities({ store, reconciliation }: SagaDeps) {
  return {
    /** Returns the input of the attempt's sandbox, or a claimed pool member. @throws MayflyError why it is refused */
    async attemptSandbox({ runId }: Pick<RunInput, 'runId'>): Promise<AttemptSandbox> {
      const run = await requireRun(store, runId);
      const attempt = getLastAttempt(run);
      if (!attempt) throw new MayflyError('internal', `${runId} has no attempt.`);
      const { sandboxId } = attempt;
      const [present, accepted] = await Promise.all([store.sandboxes.get(sandboxId), acceptedSpec(store, run)]);
      const isMember = sandboxId === run.member;
      if (present?.size) {
        const host = getHost(present);
        return { sandboxId, isMember, ...(host && { host }), spec: present.spec, size: present.size };
      }
      if (!accepted) throw goneVersion(run);
      const spec = await resolveSpec(store, run.project, accepted);
      await requireSecrets(store, run, spec);
      const place = await placeOf(store, run.project, spec);
      const countRule = await refuseByPolicy(store, run.project, factsOf(spec, place));
      const wish = memberWishOf(run, spec, attempt);
      const claimed = wish && (await claimMember({ store, reconciliation }, run, attempt, wish));
      if (claimed) return { ...claimed, isMember: true };
      await admitSandbox({ store, reconciliation }, run.project, sandboxId, place, countRule);
      return { sandboxId, isMember: false, spec: sandboxSpecOf(run, spec, place.source), size: place.size };
    },
  };
}

/** @throws MayflyError snapshot_not_found */
async function placeOf(store: Store, project: string, spec: FunctionSpec): Promise<Place> {
  const { snapshotId, cpus, memoryMib } = spec;
  const hosts = await store.hosts.list();
  if (snapshotId === null) {
    const source = spec.source ?? '';
    return { source, size: getSourceSize(source, hosts, { cpus, memoryMib }) };
  }
  const snapshot = await store.snapshots.get(snapshotId);
  if (snapshot?.project !== project) {
    throw new MayflyError('snapshot_not_found', `There is no snapshot ${snapshotId} any more.`);
  }
  const saved = snapshot.kind === 'full' ? snapshot.size : undefined;
  const wished = { cpus: cpus ?? saved?.cpus, memoryMib: memoryMib ?? saved?.memoryMib };
  return { source: snapshot.source, size: getSourceSize(snapshot.source, hosts, wished) };
}

function factsOf({ command, argv, env, user, network }: FunctionSpec, { size }: Place): PolicyFacts {
  const runs = getRequestedCommands({
    ...(argv ? { argv } : { command: command ?? '' }),
    env,
    user: user ?? undefined,
  });
  return { egress: network.egress, memoryMib: size.memoryMib, runs };
}

/** Returns the request for a pool member; null: pools serve no snapshots. */
function memberWishOf(run: RunRecord, spec: FunctionSpec, { begunAt }: Attempt): AttemptClaim | null {
  const { source, snapshotId, cpus, memoryMib } = spec;
  if (source === null || snapshotId !== null) return null;
  const size = { cpus: cpus ?? undefined, memoryMib: memoryMib ?? undefined };
  return { spec: sandboxSpecOf(run, spec, source), size, requestedAt: begunAt };
}

function sandboxSpecOf(run: RunRecord, spec: FunctionSpec, source: string): SandboxSpec {
  return {
    source,
    snapshotId: spec.snapshotId,
    captureId: null,
    cpus: spec.cpus,
    memoryMib: spec.memoryMib,
    ttlSeconds: TTL_SECONDS,
    idleSeconds: null,
    autoResume: false,
    metadata: { purpose: `runs ${run.function}`, run: run.id },
    agentId: null,
    network: spec.network,
  };
}
