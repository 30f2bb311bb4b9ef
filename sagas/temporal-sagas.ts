import type { Client } from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import type { BulkInput } from '../model/functions/bulk.ts';
import type { SetupRef } from '../model/functions/setup/setup-saga.ts';
import type { CancelImage, ImageInput } from '../model/image/image-saga.ts';
import type { PlaybookInput } from '../model/playbook/playbook-saga.ts';
import { type GaveWay, POOL_USED, type PoolClaims, type PoolInput, poolWorkflowIdOf } from '../model/pools/pool.ts';
import type { ForgetHostInput } from '../model/sagas/forget-host.ts';
import {
  type ClaimRequest,
  EVENT_HAPPENED,
  type Operation,
  RECORD_EVENTS_WORKFLOW,
  type RecordEventsInput,
  recordEventsWorkflowIdOf,
  type SandboxInput,
  type SandboxPatch,
  type StopRequest,
} from '../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import type { AuditEvent } from '../model/sandbox/audit.ts';
import type { CertificateInput, IssuedCertificate, Revocation } from '../model/sandbox/certificate.ts';
import { CANCEL_COMMAND, COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../model/sandbox/command.ts';
import type { Actor, SandboxFailure } from '../model/sandbox/sandbox.ts';
import type { RequestSigner, SignedEvent } from '../model/sandbox/signed-request.ts';
import type { BakeSourceInput, DeleteSourceInput } from '../model/snapshots/baked-source.ts';
import { type CaptureInput, captureWorkflowIdOf } from '../model/snapshots/capture.ts';
import type { DeleteSnapshotInput, EphemeralSnapshotInput } from '../model/snapshots/snapshot.ts';
import type { SourceInput } from '../model/snapshots/source-access.ts';
import type { SourcePowerEnd, SourcePowerInput } from '../model/snapshots/source-power.ts';
import type { MadeTemplate, MakeTemplateInput, TemplateInput } from '../model/templates/template-saga.ts';
import { changeTrust, signKey, trusted } from './certificates.ts';
import { cancelRun, startBulk, wakeDispatcher, wantSetup } from './functions.ts';
import { forgetHost, hostForgotten } from './hosts.ts';
import { deleteSnapshot, operate, operated, releaseEphemeral, snapshotDeleted, startEphemeral } from './operations.ts';
import { cancelPlaybook, writePlaybook } from './playbooks.ts';
import { claimMember, deletePool, type GivenUp, giveWay, setPool } from './pools.ts';
import { Reconciliation } from './reconciliation.ts';
import type { Sagas } from './sagas.ts';
import {
  beginSandbox,
  createSandbox,
  destroySandbox,
  patchSandbox,
  sandboxEnded,
  sandboxRecorded,
  sandboxSettled,
} from './sandboxes.ts';
import { bakeEnded, bakeSource, deleteSource } from './source/bakes.ts';
import { startCapture } from './source/captures.ts';
import { buildImage, cancelImage } from './source/images.ts';
import { sourcePowerEnded, startSourcePower } from './source/source-power.ts';
import { sourceTaskEnded, startSourceTask } from './source/source-tasks.ts';
import { makeTemplate, removeTemplate, templateMade } from './source/templates.ts';
import { rethrow } from './temporal/failure.ts';
import { ROUND_MS, waitFor } from './temporal/wait.ts';

type CommandWorkflow = (input: CommandInput) => Promise<void>;
type RecordEventsWorkflow = (input: RecordEventsInput) => Promise<void>;

/** How long one call may take before Temporal counts as away. Milliseconds. */
const CALL_MS = 10_000;
/** A claim that is late may be granted still, so it is asked for until it is known: as long as a create is waited for. Milliseconds. */
const CLAIM_MS = 60_000;

/** The sagas in Temporal: one entity workflow per sandbox. */
export class TemporalSagas implements Sagas {
  readonly #client: Client;
  readonly #signer: RequestSigner | undefined;
  readonly #roundMs: number;
  readonly #callMs: number;

  /**
   * @param options.roundMs how long the server may hold one round of a wait, `@default` 10 s
   * @param options.callMs how long one call may take before Temporal counts as away, `@default` 10 s
   * @param options.signer signs what the control worker is asked for; who has none asks for no certificate and has nothing recorded
   */
  constructor(
    client: Client,
    {
      roundMs = ROUND_MS,
      callMs = CALL_MS,
      signer,
    }: { roundMs?: number; callMs?: number; signer?: RequestSigner } = {},
  ) {
    this.#client = client;
    this.#signer = signer;
    this.#roundMs = roundMs;
    this.#callMs = callMs;
  }

  async begin(input: SandboxInput): Promise<boolean> {
    return (await this.#call(() => beginSandbox(this.#client, input))) !== undefined;
  }

  async create(input: SandboxInput): Promise<void> {
    await this.#call(() => createSandbox(this.#client, input));
  }

  async recorded(id: string): Promise<void> {
    await this.#call(() => sandboxRecorded(this.#client, id));
  }

  async settled(id: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => sandboxSettled(this.#client, id));
  }

  async patch(id: string, patch: SandboxPatch): Promise<void> {
    const answer = await this.#call(() => patchSandbox(this.#client, id, patch));
    if (answer !== undefined) return;
    throw new MayflyError('sandbox_ended', `The saga of ${id} has ended.`);
  }

  async destroy(input: SandboxInput, stop: StopRequest): Promise<void> {
    await this.#call(() => destroySandbox(this.#client, input, stop));
  }

  async restoreRecord(id: string): Promise<void> {
    await this.#call(() => new Reconciliation(this.#client).restoreRecord(id));
  }

  async isOpen(id: string): Promise<boolean> {
    return (await this.#call(() => new Reconciliation(this.#client).isSandboxOpen(id))) ?? false;
  }

  async ended(id: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => sandboxEnded(this.#client, id));
  }

  async operate(sandboxId: string, operation: Operation): Promise<void> {
    await this.#call(() => operate(this.#client, sandboxId, operation));
  }

  async operated(sandboxId: string, operationId: string, signal: AbortSignal): Promise<SandboxFailure | null> {
    const report = await this.#wait(signal, () => operated(this.#client, sandboxId, operationId));
    return report?.failure ?? null;
  }

  async deleteSnapshot(input: DeleteSnapshotInput): Promise<void> {
    await this.#call(() => deleteSnapshot(this.#client, input));
  }

  async snapshotDeleted(snapshotId: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => snapshotDeleted(this.#client, snapshotId));
  }

  async startEphemeral(input: EphemeralSnapshotInput): Promise<void> {
    await this.#call(() => startEphemeral(this.#client, input));
  }

  async releaseEphemeral(snapshotId: string): Promise<void> {
    await this.#call(() => releaseEphemeral(this.#client, snapshotId));
  }

  async recordEvent(sandboxId: string, event: AuditEvent): Promise<void> {
    const asked = { sandboxId, event: { ...event, runId: null } };
    const signed = { ...event, signature: this.#ownSigner().sign('event', asked) };
    await this.#call(() =>
      this.#client.workflow.signalWithStart<RecordEventsWorkflow, [SignedEvent]>(RECORD_EVENTS_WORKFLOW, {
        workflowId: recordEventsWorkflowIdOf(sandboxId),
        taskQueue: CONTROL_QUEUE,
        args: [{ sandboxId }],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        signal: EVENT_HAPPENED,
        signalArgs: [signed],
        staticSummary: readable(`accesses to ${sandboxId}`),
      }),
    );
  }

  async startCommand(input: CommandInput): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.start<CommandWorkflow>(COMMAND_WORKFLOW, {
        workflowId: commandWorkflowIdOf(input.commandId),
        taskQueue: CONTROL_QUEUE,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        staticSummary: readable(`${input.commandId} in ${input.sandboxId}`),
      }),
    );
  }

  async cancelCommand(commandId: string, actor: Actor): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.getHandle(commandWorkflowIdOf(commandId)).signal<[Actor]>(CANCEL_COMMAND, actor),
    );
  }

  async sourceTask(input: SourceInput): Promise<void> {
    await this.#call(() => startSourceTask(this.#client, input));
  }

  async sourceTaskEnded(source: Pick<SourceInput, 'hostId' | 'name'>, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => sourceTaskEnded(this.#client, source));
  }

  async sourcePower(input: SourcePowerInput): Promise<void> {
    await this.#call(() => startSourcePower(this.#client, input));
  }

  sourcePowerEnded(
    source: Pick<SourcePowerInput, 'hostId' | 'name'>,
    signal: AbortSignal,
  ): Promise<SourcePowerEnd | undefined> {
    return this.#wait(signal, () => sourcePowerEnded(this.#client, source));
  }

  async bakeSource(input: BakeSourceInput): Promise<void> {
    await this.#call(() => bakeSource(this.#client, input));
  }

  async deleteSource(input: DeleteSourceInput): Promise<void> {
    await this.#call(() => deleteSource(this.#client, input));
  }

  async bakeEnded(source: Pick<BakeSourceInput, 'hostId' | 'name'>, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => bakeEnded(this.#client, source));
  }

  async capture(input: CaptureInput): Promise<void> {
    await this.#call(() => startCapture(this.#client, input));
  }

  async captureEnded(of: Pick<CaptureInput, 'hostId' | 'source'>, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => this.#client.workflow.getHandle(captureWorkflowIdOf(of)).result());
  }

  issueCertificate(requestId: string, input: CertificateInput): Promise<IssuedCertificate> {
    return signKey(this.#client, this.#ownSigner(), requestId, input);
  }

  async changeTrust(sandboxId: string, revocation: Revocation): Promise<void> {
    await this.#call(() => changeTrust(this.#client, sandboxId, revocation));
  }

  async trusted(sandboxId: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => trusted(this.#client, sandboxId));
  }

  async forgetHost(input: ForgetHostInput): Promise<void> {
    await this.#call(() => forgetHost(this.#client, input));
  }

  async hostForgotten(hostId: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => hostForgotten(this.#client, hostId));
  }

  async makeTemplate(input: MakeTemplateInput): Promise<void> {
    await this.#call(() => makeTemplate(this.#client, input));
  }

  templateMade(templateId: string, signal: AbortSignal): Promise<MadeTemplate | undefined> {
    return this.#wait(signal, () => templateMade(this.#client, templateId));
  }

  async removeTemplate(input: TemplateInput, templateId: string): Promise<void> {
    await this.#call(() => removeTemplate(this.#client, input, { templateId }));
  }

  async buildImage(input: ImageInput): Promise<string | null> {
    return (await this.#call(() => buildImage(this.#client, input))) ?? null;
  }

  async cancelImage(name: string, cancel: CancelImage): Promise<void> {
    await this.#call(() => cancelImage(this.#client, name, cancel));
  }

  async writePlaybook(input: PlaybookInput): Promise<void> {
    await this.#call(() => writePlaybook(this.#client, input));
  }

  async cancelPlaybook(playbookId: string, actor: Actor): Promise<void> {
    await this.#call(() => cancelPlaybook(this.#client, playbookId, actor));
  }

  async wakeDispatcher(of: { project: string; name: string }): Promise<void> {
    await this.#call(() => wakeDispatcher(this.#client, of));
  }

  async startBulk(input: BulkInput): Promise<void> {
    await this.#call(() => startBulk(this.#client, input));
  }

  async startSetup(of: SetupRef): Promise<void> {
    await this.#call(() => wantSetup(this.#client, of));
  }

  async cancelRun(runId: string, actor: Actor): Promise<void> {
    await this.#call(() => cancelRun(this.#client, runId, actor));
  }

  async setPool(input: PoolInput): Promise<void> {
    await this.#call(() => setPool(this.#client, input));
  }

  async deletePool(input: PoolInput, actor: Actor): Promise<void> {
    await this.#call(() => deletePool(this.#client, input, actor));
  }

  async poolDeleted(pool: Pick<PoolInput, 'project' | 'name'>, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => this.#client.workflow.getHandle(poolWorkflowIdOf(pool)).result());
  }

  async poolUsed(pool: Pick<PoolInput, 'project' | 'name'>, claims: PoolClaims): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.getHandle(poolWorkflowIdOf(pool)).signal<[PoolClaims]>(POOL_USED, claims),
    );
  }

  async giveWay(members: readonly GivenUp[], why: GaveWay, signal: AbortSignal): Promise<void> {
    const ending = await this.#call(() => giveWay(this.#client, members, why));
    await Promise.all((ending ?? []).map((id) => this.ended(id, signal)));
  }

  async claim(sandboxId: string, request: ClaimRequest): Promise<void> {
    const late = AbortSignal.timeout(CLAIM_MS);
    try {
      await this.#wait(late, () => claimMember(this.#client, sandboxId, request));
    } catch (error) {
      if (!late.aborted) throw error;
      const why = `${sandboxId} has not said whether it is claimed.`;
      throw new MayflyError('temporal_unavailable', why, { cause: error, retryAfterSeconds: 2, mayHaveBegun: true });
    }
  }

  async reachable(): Promise<void> {
    await this.#call(() => this.#client.workflowService.getSystemInfo({}));
  }

  #ownSigner(): RequestSigner {
    if (this.#signer) return this.#signer;
    throw new MayflyError('internal', 'This process has no key to sign requests with.');
  }

  /** Undefined when the workflow is gone. */
  async #call<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#client.withDeadline(Date.now() + this.#callMs, call);
    } catch (error) {
      rethrow(error);
      return undefined;
    }
  }

  /** Undefined when the workflow is gone: then the record decides. */
  async #wait<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await waitFor(this.#client, signal, call, this.#roundMs);
    } catch (error) {
      signal.throwIfAborted();
      rethrow(error);
      return undefined;
    }
  }
}
