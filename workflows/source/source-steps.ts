import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { SignedCertificate } from '../../activities/access/certificate.ts';
import type { HostActivities } from '../../activities/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import type { SourceInspection, SourceSshd } from '../../model/snapshots/source-access.ts';
import { optionsUntilDone } from '../life/retry-until-done.ts';
import { control } from '../saga/control.ts';
import type { SourceLife } from './source-life.ts';

type Undo = 'releaseSource' | 'removeGate' | 'removeReader' | 'distrustUserCa' | 'excludeReader' | 'forgetSource';

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
  const host = proxyActivities<HostActivities>({ ...STEP, taskQueue: hostQueue(hostId) });
  const target = { sandboxId: sourceId, generation: life.generation, source: name };
  const gone = { ...target, generation: life.generation + 1 };
  const options = { ...STEP, summary: `${name} on ${hostId}` };

  const undo = (step: Undo) => () =>
    life.retryUntilDone(step, () =>
      host[step].executeWithOptions({ ...UNDO, summary: `${name} on ${hostId}` }, [gone]),
    );

  return {
    inspectSource: () => life.step('inspectSource', () => host.inspectSource.executeWithOptions(options, [target])),
    claimSource: () => life.step('claimSource', () => host.claimSource.executeWithOptions(options, [target])),
    installGate: () => life.step('installGate', () => host.installGate.executeWithOptions(options, [target])),
    createReader: () => life.step('createReader', () => host.createReader.executeWithOptions(options, [target])),
    trustUserCa: (caKeys: string[]) =>
      life.step('trustUserCa', () => host.trustUserCa.executeWithOptions(options, [{ ...target, caKeys }])),
    admitReader: (inspection: SourceInspection) =>
      life.step('admitReader', () => host.admitReader.executeWithOptions(options, [{ ...target, inspection }])),
    makeSourceKey: () => life.step('makeSourceKey', () => host.makeSourceKey.executeWithOptions(options, [target])),
    signCertificate: (publicKey: string): Promise<SignedCertificate> =>
      life.step('signCertificate', () =>
        control.signCertificate({ sandboxId: sourceId, source: name, actor, publicKey }),
      ),
    verifyReader: (certificate: string, sshd: SourceSshd) =>
      life.step('verifyReader', () =>
        host.verifyReader.executeWithOptions(options, [{ ...target, certificate, sshd }]),
      ),

    releaseSource: undo('releaseSource'),
    removeGate: undo('removeGate'),
    removeReader: undo('removeReader'),
    distrustUserCa: undo('distrustUserCa'),
    excludeReader: undo('excludeReader'),
    forgetSource: undo('forgetSource'),
  };
}
