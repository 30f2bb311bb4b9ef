import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SourceAccess, SourceInput, SourceInspection } from '../../model/snapshots/source-access.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga } from '../saga/saga.ts';
import { RecordedTask, taskCompensations, taskSteps } from './task-life.ts';

/** Profile of a step: the slowest, copying the gate over the agent's channel, takes half a minute under emulation. */
const STEP = PROFILE.step(3 * MINUTE_MS, { totalMs: 8 * MINUTE_MS });

/** Prepares or unprepares one source; the workflow id prevents two tasks at once. */
export async function source(input: SourceInput): Promise<void> {
  const life = new SourceTask(input);
  if (input.task === 'prepare') await prepareSource(life);
  else await unprepareSource(life);
}

type Changes = Partial<Omit<SourceAccess, 'id' | 'hostId' | 'name' | 'updatedAt'>>;

class SourceTask extends RecordedTask<Changes, SourceAccess> {
  constructor(readonly input: SourceInput) {
    super(input, input.timeouts);
  }

  /** Reads the record. */
  known(): Promise<SourceAccess> {
    return this.write({ updatedAt: now() }, null);
  }

  get steps() {
    return taskSteps(this, this.input, this.#target, { ...STEP, summary: this.#summary });
  }

  /** Compensations, each retried until success. */
  get undos() {
    return taskCompensations(this, this.input, this.#target, this.#summary);
  }

  /** Compensations as steps: each gives up after a few attempts. */
  get sweep() {
    const options = { ...STEP, summary: this.#summary };
    return taskSteps(this, this.input, this.#target, options, this.generation + 1);
  }

  protected override write(changes: Changes & { updatedAt: string }, event: AuditEvent | null): Promise<SourceAccess> {
    const { sourceId: id, hostId, installationId, name } = this.input;
    return controlUntilDone.rememberSource({ source: { id, hostId, installationId, name }, changes, event });
  }

  get #target() {
    return { sandboxId: this.input.sourceId, source: this.input.name };
  }

  get #summary(): string {
    return `${this.input.name} on ${this.input.hostId}`;
  }
}

/** Changes to undo by hand, in the order in which they are made. */
const CHANGES = [
  'folder /var/lib/mayfly-source (what undoing needs to know)',
  'program /usr/local/lib/mayfly/mayfly-gate',
  'user and group mayfly-readonly; its shell listed in /etc/shells where pam_shells asks for it',
  'folder /etc/ssh/mayfly-source (our CA and the one principal)',
];
const PLACES = {
  'drop-in': 'file /etc/ssh/sshd_config.d/00-mayfly-source.conf; sshd was told to read its settings again',
  block: 'block `mayfly-source` at the end of /etc/ssh/sshd_config; sshd was told to read its settings again',
};

/**
 * Prepares a running machine for read-only access:
 *
 *   inspect → claim → gate → user → CA → sshd → verified from the network
 *
 * Changes nothing unless the inspection finds all steps possible. Each step checks its effect, after its
 * compensation is registered. When a step fails, compensations run newest first until success, and the source is
 * unchanged.
 */
async function prepareSource(life: SourceTask): Promise<void> {
  try {
    const { inspection, gateVersion } = await untilCancelled(() => prepare(life));
    const { actor } = life.input;
    const changes = [...CHANGES, PLACES[inspection.placement]];
    await life.recordChange(
      { state: 'prepared', gateVersion, changes, preparedAt: now(), preparedBy: actor, waitingFor: null },
      { kind: 'source.prepared', detail: { ...inspection, gateVersion, changes } },
    );
  } catch (error) {
    await endUnprepared(life, error);
  }
}

/** Prepares the source, which is unchanged when this throws. */
async function prepare(life: SourceTask): Promise<{ inspection: SourceInspection; gateVersion: string }> {
  const { steps: step, undos } = life;
  const { sourceId, name: source, actor } = life.input;
  const inspection = await step.inspectSource();
  await life.recordChange({ state: 'preparing', sshd: inspection.sshd, failure: null });
  const gateVersion = await saga(
    async (undo) => {
      undo('claimSource', () => undos.releaseSource());
      await step.claimSource();
      undo('installGate', () => undos.removeGate());
      const installed = await step.installGate();
      undo('createReader', () => undos.removeReader());
      await step.createReader();
      undo('trustUserCa', () => undos.distrustUserCa());
      await step.trustUserCa({ caKeys: (await control.userCaKeys()).keys });
      undo('admitReader', () => undos.excludeReader());
      await step.admitReader({ inspection });
      undo('makeSourceKey', () => undos.forgetSource());
      const key = await step.makeSourceKey();
      const sign = () => control.signCertificate({ sandboxId: sourceId, source, actor, ...key });
      const { certificate } = await life.step('signCertificate', sign);
      await step.verifyReader({ certificate, sshd: inspection.sshd });
      return installed.gateVersion;
    },
    async () => void (await life.recordChange({ state: 'unpreparing' })),
  );
  return { inspection, gateVersion };
}

/** Records the first failure; all changes to the source are reverted by now. */
async function endUnprepared(life: SourceTask, error: unknown): Promise<void> {
  const failure = failureOf(error, life.failedStep);
  const undone = life.failedStep !== 'inspectSource';
  await life.recordChange(
    undone
      ? { state: 'unprepared', failure, gateVersion: null, changes: [], preparedAt: null, waitingFor: null }
      : { failure },
    { kind: 'source.prepare-failed', detail: { failure } },
  );
  refusedOrFailed(failure, ['inspectSource'], undefined);
}

/** Removals in reverse order of preparation, without the key. */
const REMOVALS = ['excludeReader', 'distrustUserCa', 'removeReader', 'removeGate', 'releaseSource'] as const;

/**
 * Reverts all preparation in reverse order, each step until success. Absence is success; waits for a source that is
 * off, as the record shows. A source that was never changed is only swept, where it can be reached.
 */
async function unprepareSource(life: SourceTask): Promise<void> {
  const { undos, sweep } = life;
  const isUntouched = (await life.known()).state === 'unprepared';
  if (!isUntouched) await life.recordChange({ state: 'unpreparing' });
  await undos.forgetSource();
  const detail: { notLookedAt?: string | null } = {};
  try {
    for (const remove of REMOVALS) await (isUntouched ? sweep : undos)[remove]();
    if (isUntouched) detail.notLookedAt = null;
  } catch (error) {
    if (!isUntouched) throw error;
    detail.notLookedAt = failureOf(error, life.failedStep).message;
  }
  await life.recordChange(
    { state: 'unprepared', gateVersion: null, changes: [], preparedAt: null, failure: null, waitingFor: null },
    { kind: 'source.unprepared', detail },
  );
}
