import type { BulkInput } from '../model/functions/bulk.ts';
import type { SetupRef } from '../model/functions/setup/setup-saga.ts';
import type { CancelImage, ImageInput } from '../model/image/image-saga.ts';
import type { PlaybookInput } from '../model/playbook/playbook-saga.ts';
import type { GaveWay, PoolClaims, PoolInput } from '../model/pools/pool.ts';
import type { ForgetHostInput } from '../model/sagas/forget-host.ts';
import type { ClaimRequest, Operation, SandboxInput, SandboxPatch, StopRequest } from '../model/sagas/messages.ts';
import type { AuditEvent } from '../model/sandbox/audit.ts';
import type { CertificateInput, IssuedCertificate, Revocation } from '../model/sandbox/certificate.ts';
import type { CommandInput } from '../model/sandbox/command.ts';
import type { Actor, SandboxFailure } from '../model/sandbox/sandbox.ts';
import type { BakeSourceInput, DeleteSourceInput } from '../model/snapshots/baked-source.ts';
import type { CaptureInput } from '../model/snapshots/capture.ts';
import type { DeleteSnapshotInput, EphemeralSnapshotInput } from '../model/snapshots/snapshot.ts';
import type { SourceInput } from '../model/snapshots/source-access.ts';
import type { SourcePowerEnd, SourcePowerInput } from '../model/snapshots/source-power.ts';
import type { MadeTemplate, MakeTemplateInput, TemplateInput } from '../model/templates/template-saga.ts';
import type { GivenUp } from './pools.ts';

/**
 * What the API asks of the sagas. Nothing is answered with data: all that callers are told is read from the store.
 * Where a workflow is gone, or has ended meanwhile, the calls resolve and the record decides.
 */
export interface Sagas {
  /** Resolves when Temporal has the request. False: the saga of that id was there before. */
  begin(input: SandboxInput): Promise<boolean>;
  /**
   * As {@link begin}, for whoever waits for {@link settled} then. Resolves when the saga has begun, and has recorded the
   * request if the store let it. The same id again joins the saga that is there.
   */
  create(input: SandboxInput): Promise<void>;
  /** Resolves when the request is recorded. @throws MayflyError name_taken: it never will be */
  recorded(id: string): Promise<void>;
  /** Resolves when the sandbox is running or at its end. @throws MayflyError name_taken; the signal's reason when it fires first */
  settled(id: string, signal: AbortSignal): Promise<void>;
  /** Resolves when the store has it. @throws MayflyError sandbox_ended, also of one that never was */
  patch(id: string, patch: SandboxPatch): Promise<void>;
  /** Resolves when Temporal has the wish; starts a saga of its own when there is none. */
  destroy(input: SandboxInput, stop: StopRequest): Promise<void>;
  /** Where a saga of it runs, the store has its record when this resolves: it may have been set back to before it. */
  restoreRecord(id: string): Promise<void>;
  /** Whether a saga of it runs. @throws MayflyError temporal_unavailable */
  isOpen(id: string): Promise<boolean>;
  /** Resolves when the saga has ended. @throws the signal's reason when it fires first */
  ended(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Begins a snapshot, a restore, a pause or a resume. Resolves when it is accepted and recorded; the same operation id
   * again joins the one that is there.
   * @throws MayflyError sandbox_busy, sandbox_not_running, sandbox_ended, snapshot_name_taken, snapshot_not_found, snapshot_not_ready
   */
  operate(sandboxId: string, operation: Operation): Promise<void>;
  /**
   * Resolves when the operation has ended, with why it failed; null when it did not, or when the sandbox has ended.
   * @throws the signal's reason when it fires first
   */
  operated(sandboxId: string, operationId: string, signal: AbortSignal): Promise<SandboxFailure | null>;
  /** Resolves when Temporal has the wish; joins the deletion that runs already. */
  deleteSnapshot(input: DeleteSnapshotInput): Promise<void>;
  /** Resolves when the deletion has ended. @throws the signal's reason when it fires first */
  snapshotDeleted(snapshotId: string, signal: AbortSignal): Promise<void>;
  /**
   * Sees to it that a snapshot goes away: when {@link releaseEphemeral} says so, else by itself. To be called before the
   * snapshot is begun. Resolves when Temporal has it.
   */
  startEphemeral(input: EphemeralSnapshotInput): Promise<void>;
  /** Nobody needs that snapshot any more, or it was never begun. Resolves when Temporal has it. */
  releaseEphemeral(snapshotId: string): Promise<void>;
  /**
   * Appends to the sandbox's audit trail what no saga does: a file access, for example. Resolves when Temporal has it,
   * which is before it is written; the same `eventId` again changes nothing. Names and counts only, never content.
   * @throws MayflyError temporal_unavailable
   */
  recordEvent(sandboxId: string, event: AuditEvent): Promise<void>;
  /**
   * Begins to prepare a source, or to take that back; joins the same task when it runs already.
   * @throws MayflyError too_many_requests while the other task runs on it
   */
  sourceTask(input: SourceInput): Promise<void>;
  /** Resolves when no task runs on the source. @throws the signal's reason when it fires first */
  sourceTaskEnded(source: Pick<SourceInput, 'hostId' | 'name'>, signal: AbortSignal): Promise<void>;
  /**
   * Begins to start or to stop a source; joins the same task when it runs already, and forces a stop that runs.
   * @throws MayflyError too_many_requests while the other task runs on it; source_busy while it is captured or prepared
   */
  sourcePower(input: SourcePowerInput): Promise<void>;
  /**
   * Resolves when neither is done to the source, with how that ended: no record has it. Undefined when nobody knows any more.
   * @throws the signal's reason when it fires first
   */
  sourcePowerEnded(
    source: Pick<SourcePowerInput, 'hostId' | 'name'>,
    signal: AbortSignal,
  ): Promise<SourcePowerEnd | undefined>;
  /**
   * Begins to make a source of a snapshot; the same bake id again joins it.
   * @throws MayflyError source_exists while another one works on that name
   */
  bakeSource(input: BakeSourceInput): Promise<void>;
  /** Begins to delete a baked source; joins the deletion that runs already. @throws MayflyError too_many_requests while it is baked */
  deleteSource(input: DeleteSourceInput): Promise<void>;
  /** Resolves when no bake and no deletion of that name runs. @throws the signal's reason when it fires first */
  bakeEnded(source: Pick<BakeSourceInput, 'hostId' | 'name'>, signal: AbortSignal): Promise<void>;
  /**
   * Begins a capture of a source, or deletes one; the same again joins the one that runs.
   * @throws MayflyError source_busy while another one is made or deleted
   */
  capture(input: CaptureInput): Promise<void>;
  /** Resolves when none is made or deleted of the source. @throws the signal's reason when it fires first */
  captureEnded(of: Pick<CaptureInput, 'hostId' | 'source'>, signal: AbortSignal): Promise<void>;
  /**
   * Signs a public key; the one answer that is not in the store. The same request id again gets the same certificate.
   * @throws MayflyError sandbox_ended, temporal_unavailable
   */
  issueCertificate(requestId: string, input: CertificateInput): Promise<IssuedCertificate>;
  /** Revokes certificates. Resolves when Temporal has it; the guest is told by and by. */
  changeTrust(sandboxId: string, revocation: Revocation): Promise<void>;
  /** Resolves when the guest has been told, or has ended. @throws the signal's reason when it fires first */
  trusted(sandboxId: string, signal: AbortSignal): Promise<void>;
  /** Resolves when Temporal has the command, which is recorded already; the same id again joins the one that is there. */
  startCommand(input: CommandInput): Promise<void>;
  /** Resolves when Temporal has the wish; it waits there while the host is down. */
  cancelCommand(commandId: string, actor: Actor): Promise<void>;
  /** Begins to give a host up which is lost. Resolves when Temporal has it; joins the one that runs. */
  forgetHost(input: ForgetHostInput): Promise<void>;
  /** Resolves when nothing waits for the host any more. @throws the signal's reason when it fires first */
  hostForgotten(hostId: string, signal: AbortSignal): Promise<void>;
  /** Begins to ask a host for a template; the same id again joins that. Resolves when Temporal has it. */
  makeTemplate(input: MakeTemplateInput): Promise<void>;
  /**
   * Resolves when it is known which template there is then, or why there is none; undefined when nobody knows any more.
   * @throws the signal's reason when it fires first
   */
  templateMade(templateId: string, signal: AbortSignal): Promise<MadeTemplate | undefined>;
  /** Has a template go, which none wakes from any more. Resolves when Temporal has it. */
  removeTemplate(input: TemplateInput, templateId: string): Promise<void>;
  /**
   * Sets a pool, or makes it. Resolves when it goes by that: members of before can't be claimed any more.
   * @throws MayflyError too_many_requests while it is being deleted
   */
  setPool(input: PoolInput): Promise<void>;
  /** Resolves when Temporal has the wish that all members of a pool end, and the pool with them. */
  deletePool(input: PoolInput, actor: Actor): Promise<void>;
  /** Resolves when it has. @throws the signal's reason when it fires first */
  poolDeleted(pool: Pick<PoolInput, 'project' | 'name'>, signal: AbortSignal): Promise<void>;
  /** Tells a pool how many creates came that might have had a member. */
  poolUsed(pool: Pick<PoolInput, 'project' | 'name'>, claims: PoolClaims): Promise<void>;
  /**
   * Has members of pools end for want of room, unless they are claimed. Resolves when nothing is left of those that were not.
   * @throws the signal's reason when it fires first
   */
  giveWay(members: readonly GivenUp[], why: GaveWay, signal: AbortSignal): Promise<void>;
  /**
   * Claims a member of a pool. Resolves when the store has it; the same request again has the same answer.
   * @throws MayflyError sandbox_busy, sandbox_ended, sandbox_not_running when it can't be had; name_taken
   */
  claim(sandboxId: string, request: ClaimRequest): Promise<void>;
  /**
   * Begins a build; the same id again joins it. Resolves when Temporal has it.
   * @returns the id of another build of that name, which runs; null: there is none
   */
  buildImage(input: ImageInput): Promise<string | null>;
  /** Resolves when Temporal has the wish. */
  cancelImage(name: string, cancel: CancelImage): Promise<void>;
  /** Begins a playbook; the same id again joins it. Resolves when Temporal has it. */
  writePlaybook(input: PlaybookInput): Promise<void>;
  /** Resolves when Temporal has the wish. */
  cancelPlaybook(playbookId: string, actor: Actor): Promise<void>;
  /** Has the queue of a function looked at. Resolves when Temporal has the wish. */
  wakeDispatcher(of: { project: string; name: string }): Promise<void>;
  /** Begins an action on many runs, or goes on with it. Resolves when Temporal has it. @throws MayflyError temporal_unavailable */
  startBulk(input: BulkInput): Promise<void>;
  /** Begins what is to be done with a setup of a function, unless it is being done. @throws MayflyError temporal_unavailable */
  startSetup(of: SetupRef): Promise<void>;
  /** Resolves when Temporal has the wish, or the run is not under way. */
  cancelRun(runId: string, actor: Actor): Promise<void>;
  /** @throws MayflyError temporal_unavailable */
  reachable(): Promise<void>;
}
