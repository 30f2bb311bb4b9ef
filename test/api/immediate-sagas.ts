import { MayflyError } from '../../model/errors.ts';
import type { CancelImage, ImageInput } from '../../model/image/image-saga.ts';
import type { PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import type { PoolInput } from '../../model/pools/pool-saga.ts';
import type { DecommissionHostInput } from '../../model/sagas/forget-host.ts';
import type { ClaimRequest, Operation, SandboxInput, SpecUpdate } from '../../model/sagas/messages.ts';
import { newSandboxRecord } from '../../model/sagas/requested-record.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { IssuedCertificate } from '../../model/sandbox/certificate.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { isFinal, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { type BakeSourceInput, type DeleteSourceInput, newBakeRecord } from '../../model/snapshots/bake-saga.ts';
import { type CaptureInput, newCapture } from '../../model/snapshots/capture-saga.ts';
import type { DeleteSnapshotInput } from '../../model/snapshots/snapshot-saga.ts';
import type { SourceInput } from '../../model/snapshots/source-access.ts';
import type { SourcePowerInput, SourcePowerOutcome, SourcePowerTask } from '../../model/snapshots/source-power.ts';
import {
  type MakeTemplateInput,
  newTemplate,
  type TemplateInput,
  type TemplateResult,
} from '../../model/templates/template-saga.ts';
import type { Store } from '../../store/connect.ts';
import type { Victim } from '../../temporal/client/pools.ts';
import type { ApiWorkflows } from '../../temporal/temporal-sagas.ts';
import { snapshot } from '../store/support.ts';

/** State of a sandbox after an operation; `running` by default. */
const STATES: Partial<Record<string, SandboxState>> = { pause: 'paused', hibernate: 'hibernated' };

export type ImmediateSagas = Immediate & ApiWorkflows;

export function immediateSagas(store: Store): ImmediateSagas {
  return new Immediate(store) as unknown as ImmediateSagas;
}

/** Sagas without Temporal, for tests that don't need it: they write real records to the store. */
class Immediate {
  /** State of the next sandboxes. */
  outcome: 'running' | 'failed' | 'never' = 'running';
  started: string[] = [];
  startedCommands: string[] = [];
  cancelled: string[] = [];
  operations: Operation[] = [];
  /** Snapshots held ephemerally. */
  passing: string[] = [];
  failing: Error | null = null;
  /** Errors of the next claims; null: they succeed. */
  claims: (Error | null)[] = [];
  /** Number of creates until Temporal becomes unavailable. */
  failsAfter: number | null = null;
  /** Error of the next operations. */
  refusal: Error | null = null;
  #powered: SourcePowerTask = 'start';
  readonly #store: Store;
  readonly #sagas = new Map<string, Promise<void>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Functions whose dispatchers were notified, as `<project>/<name>`. */
  woken: string[] = [];

  /** Ids of started bulk actions. */
  readonly bulks: string[] = [];

  /** Keys of started setups. */
  readonly setups: string[] = [];

  async reach(): Promise<void> {
    if (this.failing) throw this.failing;
  }

  readonly functions = {
    wakeDispatcher: async ({ project, name }: { project: string; name: string }): Promise<void> => {
      this.woken.push(`${project}/${name}`);
    },
    startBulk: async ({ bulkId }: { bulkId: string }): Promise<void> => {
      this.bulks.push(bulkId);
    },
    wantSetup: async ({ setupKey }: { setupKey: string }): Promise<void> => {
      this.setups.push(setupKey);
    },
    cancelRun: async (runId: string): Promise<void> => {
      this.cancelled.push(runId);
    },
  };

  readonly sandboxes = {
    begin: async (input: SandboxInput): Promise<boolean> => {
      const isNew = !this.#sagas.has(input.id);
      await this.sandboxes.create(input);
      return isNew;
    },
    create: async (input: SandboxInput): Promise<void> => {
      if (this.failing) throw this.failing;
      if (this.failsAfter !== null && this.failsAfter-- <= 0) {
        throw new MayflyError('temporal_unavailable', 'Temporal has gone away.');
      }
      const saga = this.#sagas.get(input.id) ?? this.#start(input);
      this.#sagas.set(input.id, saga);
      await saga;
    },
    recorded: async (id: string): Promise<void> => {
      await this.#sagas.get(id);
    },
    settled: async (id: string, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'running') await this.#store.sandboxes.update(id, { state: 'running' });
      else if (this.outcome === 'failed') await this.#fail(id);
      else await aborted(signal);
    },
    isOpen: async (id: string): Promise<boolean> => {
      return this.#sagas.has(id);
    },
    patch: async (id: string, patch: SpecUpdate): Promise<void> => {
      const record = await this.#store.sandboxes.get(id);
      if (!record || isFinal(record.state)) throw new MayflyError('sandbox_ended', `The saga of ${id} has ended.`);
      const { spec } = record;
      const { ttlSeconds = spec.ttlSeconds, idleSeconds = spec.idleSeconds, metadata = spec.metadata } = patch;
      const { autoResume = spec.autoResume } = patch;
      const { onIdle = spec.onIdle ?? 'destroy' } = patch;
      const patched = { ...spec, ttlSeconds, idleSeconds, onIdle, autoResume, metadata };
      await this.#store.sandboxes.update(id, { spec: patched });
    },
    restoreRecord: async (): Promise<void> => {},
    destroy: async (input: SandboxInput): Promise<void> => {
      if (this.failing) throw this.failing;
      await this.#store.sandboxes.update(input.id, { state: 'destroying', stopReason: 'deleted' });
    },
    ended: async (id: string, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'never') return aborted(signal);
      const at = new Date().toISOString();
      const proof = { sandboxId: id, hostId: 'kvm-1', observations: [], provedAt: at };
      await this.#store.sandboxes.update(id, { state: 'destroyed', proof });
    },
    operate: async (sandboxId: string, operation: Operation): Promise<void> => {
      if (this.refusal) throw this.refusal;
      this.operations.push(operation);
      if (operation.kind !== 'snapshot') return;
      const { operationId: id, name, snapshotKind: kind, reason = 'requested', actor } = operation;
      const sandbox = await this.#store.sandboxes.get(sandboxId);
      if (!sandbox) throw new Error(`there is no ${sandboxId}`);
      const { project, spec } = sandbox;
      await this.#store.snapshots.create(
        snapshot(0, {
          id,
          project,
          network: spec.network,
          sandboxId,
          name,
          kind,
          reason,
          createdBy: actor,
          createdAt: new Date().toISOString(),
        }),
      );
    },
    operated: async (sandboxId: string, operationId: string, signal: AbortSignal): Promise<SandboxFailure | null> => {
      if (this.outcome === 'never') return aborted(signal);
      const kind = this.operations.find((operation) => operation.operationId === operationId)?.kind;
      const isFailed = this.outcome === 'failed';
      const failure = isFailed ? ({ code: 'host_unavailable', step: 'saveSnapshot', message: 'no' } as const) : null;
      if (kind === 'snapshot') {
        await this.#store.snapshots.update(operationId, isFailed ? { state: 'failed', failure } : { state: 'ready' });
      } else if (!isFailed) {
        await this.#store.sandboxes.update(sandboxId, { state: STATES[kind ?? ''] ?? 'running' });
      }
      return failure;
    },
    recordEvent: async (sandboxId: string, event: AuditEvent): Promise<void> => {
      if (this.failing) throw this.failing;
      await this.#store.audit.append(sandboxId, event);
    },
  };

  readonly commands = {
    begin: async ({ commandId }: CommandInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.startedCommands.push(commandId);
    },
    cancel: async (commandId: string): Promise<void> => {
      if (this.failing) throw this.failing;
      this.cancelled.push(commandId);
    },
  };

  readonly snapshots = {
    delete: async ({ snapshotId }: DeleteSnapshotInput): Promise<void> => {
      await this.#store.snapshots.update(snapshotId, { state: 'deleting' });
    },
    deleted: async (snapshotId: string, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'never') return aborted(signal);
      await this.#store.snapshots.update(snapshotId, { state: 'deleted', keptFor: 'sbx-0123456789abcdef' });
    },
    startEphemeral: async ({ snapshotId }: DeleteSnapshotInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.passing.push(snapshotId);
    },
    releaseEphemeral: async (snapshotId: string): Promise<void> => {
      this.passing = this.passing.filter((id) => id !== snapshotId);
    },
  };

  readonly sources = {
    beginTask: async (input: SourceInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.started.push(`${input.task} ${input.name} on ${input.hostId}`);
      const { sourceId: id, hostId, installationId, name, actor } = input;
      const at = new Date().toISOString();
      const isFailed = this.outcome === 'failed';
      const failure = isFailed ? ({ code: 'ssh_timeout', step: 'verifyReader', message: 'no' } as const) : null;
      const state = input.task === 'prepare' && !isFailed ? 'prepared' : 'unprepared';
      const changes = { state, failure, preparedAt: at, preparedBy: actor, updatedAt: at } as const;
      if (this.outcome !== 'never') await this.#store.sources.change({ id, hostId, installationId, name }, changes);
    },
    taskEnded: async (_source: unknown, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'never') await aborted(signal);
    },
    beginPower: async ({ task, name, hostId, force }: SourcePowerInput): Promise<void> => {
      if (this.refusal) throw this.refusal;
      this.started.push(`${task} ${name} on ${hostId}${force ? ', forced' : ''}`);
      this.#powered = task;
    },
    powerEnded: async (_source: unknown, signal: AbortSignal): Promise<SourcePowerOutcome> => {
      if (this.outcome === 'never') return aborted(signal);
      if (this.outcome !== 'failed') return { failure: null, guestAnswers: this.#powered === 'start' ? true : null };
      const code = this.#powered === 'start' ? 'source_in_use' : 'source_stop_failed';
      return { failure: { code, message: `${this.#powered}Source: no` } };
    },
    bake: async (input: BakeSourceInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.started.push(`bake ${input.name} of ${input.snapshot.id} on ${input.hostId}`);
      const isFailed = this.outcome === 'failed';
      const failure = isFailed ? ({ code: 'bake_failed', step: 'cleanGuest', message: 'no' } as const) : null;
      if (this.outcome === 'never') return;
      await this.#store.bakedSources.begin({ ...newBakeRecord(input), state: isFailed ? 'failed' : 'ready', failure });
    },
    delete: async ({ sourceId, name }: DeleteSourceInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.started.push(`delete ${name}`);
      const isFailed = this.outcome === 'failed';
      const failure = isFailed ? ({ code: 'source_in_use', step: 'removeSource', message: 'by sbx-' } as const) : null;
      if (this.outcome === 'never') return;
      await this.#store.bakedSources.update(sourceId, { state: isFailed ? 'ready' : 'deleted', failure });
    },
    bakeEnded: async (_source: unknown, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'never') await aborted(signal);
    },
  };

  readonly captures = {
    begin: async (input: CaptureInput): Promise<void> => {
      if (this.refusal) throw this.refusal;
      this.started.push(`${input.task} ${input.captureId}`);
      if (input.task === 'create') await this.#store.captures.create(newCapture(input));
      else await this.#store.captures.update(input.captureId, { state: 'deleting' });
    },
    ended: async (of: Pick<CaptureInput, 'hostId' | 'source'>, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'never') return aborted(signal);
      const failure = { code: 'capture_failed', step: 'awaitCapture', message: 'no' } as const;
      const ended = this.outcome === 'failed' ? ({ state: 'failed', failure } as const) : ({ state: 'ready' } as const);
      for (const { id, state } of (await this.#store.captures.list({ source: of.source, limit: 10 })).items) {
        if (state === 'creating') await this.#store.captures.update(id, ended);
        if (state === 'deleting' && this.outcome !== 'failed')
          await this.#store.captures.update(id, { state: 'deleted' });
        if (state === 'deleting' && this.outcome === 'failed') {
          await this.#store.captures.update(id, {
            state: 'ready',
            waitingFor: 'sandbox sbx-0123456789abcdef refers to it',
          });
        }
      }
    },
  };

  readonly images = {
    build: async ({ imageId, name }: ImageInput): Promise<string | null> => {
      if (this.failing) throw this.failing;
      this.started.push(`image ${name}`);
      await this.#store.images.update(imageId, { state: 'building' });
      return null;
    },
    cancel: async (_name: string, { imageId }: CancelImage): Promise<void> => {
      await this.#store.images.update(imageId, { state: 'cancelled' });
    },
  };

  readonly playbooks = {
    write: async ({ playbookId }: PlaybookInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.started.push(`playbook ${playbookId}`);
    },
    cancel: async (playbookId: string): Promise<void> => {
      await this.#store.playbooks.update(playbookId, { state: 'cancelled' });
    },
  };

  readonly templates = {
    make: async ({ templateId, ...wanted }: MakeTemplateInput): Promise<void> => {
      if (this.failing) throw this.failing;
      this.started.push(`template of ${wanted.source} on ${wanted.hostId}`);
      if (this.outcome === 'failed') return;
      const ids = { templateId, builderId: 'sbx-0000000000000001', probeIds: [] };
      await this.#store.templates.put(
        newTemplate({ ...wanted, templateKey: 'a'.repeat(64) }, ids, new Date().toISOString()),
      );
    },
    made: async (templateId: string, signal: AbortSignal): Promise<TemplateResult> => {
      if (this.outcome === 'never') return aborted(signal);
      if (this.outcome !== 'failed') return { templateId, templateKey: 'a'.repeat(64) };
      return { refused: { code: 'template_unsupported', message: 'no' } };
    },
    remove: async (_input: TemplateInput, templateId: string): Promise<void> => {
      if (this.failing) throw this.failing;
      const record = await this.#store.templates.get(templateId);
      if (record && this.outcome !== 'never') await this.#store.templates.put({ ...record, state: 'gone' });
    },
  };

  readonly certificates = {
    issue: async (): Promise<IssuedCertificate> => {
      throw new MayflyError('temporal_unavailable', 'There is no control worker.');
    },
    changeTrust: async (): Promise<void> => {
      throw new MayflyError('temporal_unavailable', 'There is no control worker.');
    },
    trusted: async (): Promise<void> => {},
  };

  readonly hosts = {
    forget: async ({ hostId, at }: DecommissionHostInput): Promise<void> => {
      await this.#store.hosts.order(hostId, { forgottenAt: at });
    },
    forgotten: async (): Promise<void> => {},
  };

  readonly pools = {
    set: async ({ project, name, wish, actor, at }: PoolInput): Promise<void> => {
      if (this.failing) throw this.failing;
      const [fresh, claims] = [
        { reason: null, retryAt: null, createdAt: at, updatedAt: at },
        { hits: 0, misses: 0 },
      ];
      const record = { project, name, ...wish, ...fresh, claims, idle: { mibHours: 0, at }, createdBy: actor };
      await this.#store.pools.put({ ...record, revision: 1, state: 'filling', wanted: wish.min });
    },
    delete: async ({ project, name }: PoolInput): Promise<void> => {
      const record = await this.#store.pools.get({ project, name });
      if (record) await this.#store.pools.put({ ...record, state: this.outcome === 'never' ? 'deleting' : 'deleted' });
    },
    deleted: async (_pool: unknown, signal: AbortSignal): Promise<void> => {
      if (this.outcome === 'never') await aborted(signal);
    },
    used: async (): Promise<void> => {},
    evict: async (members: readonly Victim[], _why: unknown, signal: AbortSignal): Promise<void> => {
      if (this.failing) throw this.failing;
      for (const { id } of members) await this.sandboxes.ended(id, signal);
    },
    claim: async (sandboxId: string, { requestId, spec, actor }: ClaimRequest): Promise<void> => {
      const refusal = this.claims.shift();
      if (refusal) throw refusal;
      const record = await this.#store.sandboxes.get(sandboxId);
      if (!record?.pool) throw new MayflyError('sandbox_not_running', `${sandboxId} is no pool's.`);
      if (record.pool.claimedBy === requestId) return;
      if (record.pool.claimedBy !== null) throw new MayflyError('sandbox_busy', `${sandboxId} is another's.`);
      const boot = { way: 'warm', why: null, templateId: null, ageSeconds: 0 } as const;
      const pool = { ...record.pool, claimedBy: requestId };
      await this.#store.sandboxes.claim(record, { state: 'running', spec, createdBy: actor, boot, pool });
    },
  };

  async #start(input: SandboxInput): Promise<void> {
    this.started.push(input.id);
    await this.#store.sandboxes.create(newSandboxRecord(input));
  }

  async #fail(id: string): Promise<void> {
    const failure = { code: 'ip_timeout', step: 'awaitIp', message: 'no lease after 60 s' } as const;
    await this.#store.sandboxes.update(id, { state: 'failed', stopReason: 'create-failed', failure });
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
