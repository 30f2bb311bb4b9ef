import type { SourceInspection } from '../../model/snapshots/source-access.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { control } from '../saga/control.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { saga } from '../saga/saga.ts';
import type { SourceLife } from './source-life.ts';
import { sourceSteps } from './source-steps.ts';

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
export async function prepareSource(life: SourceLife): Promise<void> {
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
async function prepare(life: SourceLife): Promise<{ inspection: SourceInspection; gateVersion: string }> {
  const { step, undos } = sourceSteps(life);
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
async function endUnprepared(life: SourceLife, error: unknown): Promise<void> {
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
