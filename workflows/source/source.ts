import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SourceAccess, SourceInput, SourceInspection } from '../../model/snapshots/source-access.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga } from '../saga/saga.ts';
import { RecordedTask, taskSteps, taskUndos } from './task-life.ts';

/** Under emulation the slowest, carrying the gate over the agent's channel, takes half a minute. */
const STEP = PROFILE.step(3 * MINUTE_MS, { totalMs: 8 * MINUTE_MS });

/** Prepares one source, or takes that back, one task at a time: its workflow id keeps a second one from beginning meanwhile. */
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

  /** As the record says. */
  known(): Promise<SourceAccess> {
    return this.write({ updatedAt: now() }, null);
  }

  get steps() {
    return taskSteps(this, this.input, this.#target, { ...STEP, summary: this.#summary });
  }

  /** Compensations, each retried until success. */
  get undos() {
    return taskUndos(this, this.input, this.#target, this.#summary);
  }

  /** Compensations as steps: each is tried a few times, and gives up. */
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

/** What a person would have to undo, in the order in which it is made. */
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
 * From a running machine to one that can be looked at, and only looked at:
 *
 *   inspect → claim → gate → user → CA → sshd → verified from the network
 *
 * Nothing is changed before the inspection says that all of it can be. Each step looks at what it did; its undo stands
 * on the line above it. When a step fails, the undos run newest first until they hold, and the source is as it was.
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

/** The source is as it was when this throws. */
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

/** What is told is what failed first; where the source was changed, it has been changed back by now. */
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

/** Removal of all that preparing made, but for the key, in the opposite order. */
const REMOVALS = ['excludeReader', 'distrustUserCa', 'removeReader', 'removeGate', 'releaseSource'] as const;

/**
 * Takes back all that preparing made, in the opposite order, each until it holds. "Not there" is success; a source that is shut
 * off makes it wait, and the record says so. One in which nothing was ever changed is only swept where it can be reached.
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
