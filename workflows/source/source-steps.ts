import type { ActivityOptions } from '@temporalio/workflow';
import type { SignedCertificate } from '../../activities/access/certificate.ts';
import type { KeyToCertify } from '../../model/sandbox/signed-request.ts';
import type { SourceInspection, SourceSshd } from '../../model/snapshots/source-access.ts';
import { optionsUntilDone } from '../life/retry-until-done.ts';
import { control } from '../saga/control.ts';
import type { SourceLife } from './source-life.ts';
import { taskSteps } from './task-life.ts';

/** Under emulation the slowest, carrying the gate over the agent's channel, takes half a minute. */
const STEP: ActivityOptions = {
  scheduleToStartTimeout: '30s',
  startToCloseTimeout: '3m',
  scheduleToCloseTimeout: '8m',
  heartbeatTimeout: '4s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 5 },
};
/** A host that is down gets its work when it is back. */
const UNDO = optionsUntilDone('3m');

/** The steps on one source, each with the line that operators read in the Temporal UI. */
export function sourceSteps(life: SourceLife) {
  const { sourceId, hostId, name, actor } = life.input;
  const target = { sandboxId: sourceId, generation: life.generation, source: name };
  const gone = { ...target, generation: life.generation + 1 };
  const { step, undo } = taskSteps(life, life.input, { step: STEP, undo: UNDO, summary: `${name} on ${hostId}` });

  return {
    inspectSource: () => step.inspectSource(target),
    claimSource: () => step.claimSource(target),
    installGate: () => step.installGate(target),
    createReader: () => step.createReader(target),
    trustUserCa: (caKeys: string[]) => step.trustUserCa({ ...target, caKeys }),
    admitReader: (inspection: SourceInspection) => step.admitReader({ ...target, inspection }),
    makeSourceKey: () => step.makeSourceKey(target),
    signCertificate: (key: KeyToCertify): Promise<SignedCertificate> =>
      life.step('signCertificate', () => control.signCertificate({ sandboxId: sourceId, source: name, actor, ...key })),
    verifyReader: (certificate: string, sshd: SourceSshd) => step.verifyReader({ ...target, certificate, sshd }),

    /** All undos in the guest, as steps: each is tried a few times, and gives up. */
    takeAwayLeftOvers: async () => {
      await step.excludeReader(gone);
      await step.distrustUserCa(gone);
      await step.removeReader(gone);
      await step.removeGate(gone);
      await step.releaseSource(gone);
    },
    releaseSource: () => undo.releaseSource(gone),
    removeGate: () => undo.removeGate(gone),
    removeReader: () => undo.removeReader(gone),
    distrustUserCa: () => undo.distrustUserCa(gone),
    excludeReader: () => undo.excludeReader(gone),
    forgetSource: () => undo.forgetSource(gone),
  };
}
