import type { SourceConsole } from '../../host/console.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { nullIf } from '../../host/os/absent.ts';
import { addSshdSettings, removeSshdSettings } from '../../host/source/admission.ts';
import { claimSource, type Gate, installGate, releaseSource, removeGate } from '../../host/source/gate.ts';
import { inspectSource } from '../../host/source/inspection.ts';
import { createReader, removeReader } from '../../host/source/reader.ts';
import type { SourceReads } from '../../host/source/source-reads.ts';
import { distrustUserCa, trustUserCa } from '../../host/source/trust.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { KeyToCertify, RequestSigner } from '../../model/sandbox/signed-request.ts';
import type { SourceInspection, SourceSshd } from '../../model/snapshots/source-access.ts';
import { signOwnKey } from '../access/own-key.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

/** Target of a source's steps; `sandboxId` is the source's id, whose steps are queued like a sandbox's. */
interface SourceTarget extends StepTarget {
  /** Name in libvirt. */
  source: string;
}

export interface SourceDeps {
  hypervisor: Hypervisor;
  credentials: Credentials;
  sourceReads: SourceReads;
  /** Signer of this host. */
  signer: RequestSigner;
  /** Returns the gate of this Mayfly version. */
  gate: () => Promise<Gate>;
}

/** Read that proves a prepared source works: harmless, and in every allow table. */
const PROBE = {
  pipelines: [
    {
      when: 'always' as const,
      stages: [{ argv: ['uname', '-s'] as [string, ...string[]], stdin: 'null' as const, stderr: 'inherit' as const }],
    },
  ],
  timeoutSeconds: 30,
  maxOutputBytes: 4_096,
};

/**
 * Activities that prepare a running source for read-only access, and their compensations. Idempotent; each checks its
 * effect. Steps throw prepare_failed, or source_not_running.
 */
export function createSourceActivities(deps: SourceDeps) {
  const { hypervisor, credentials, sourceReads, signer } = deps;
  const openConsole = async (name: string) => (await hypervisor.runningSource(name)).console;

  return {
    async inspectSource({ sandboxId, source }: SourceTarget): Promise<SourceInspection> {
      const { bytes } = await deps.gate();
      return inspectSource(await openConsole(source), sandboxId, bytes.length, stepContext().signal);
    },
    async claimSource({ sandboxId, source }: SourceTarget): Promise<void> {
      await claimSource(await openConsole(source), sandboxId, stepContext().signal);
    },
    async installGate({ sandboxId, source }: SourceTarget): Promise<{ gateVersion: string }> {
      const gate = await deps.gate();
      await installGate(await openConsole(source), sandboxId, gate, stepContext().signal);
      return { gateVersion: gate.digest };
    },
    async createReader({ sandboxId, source }: SourceTarget): Promise<void> {
      await createReader(await openConsole(source), sandboxId, stepContext().signal);
    },
    async trustUserCa({ sandboxId, source, caKeys }: SourceTarget & { caKeys: string[] }): Promise<void> {
      await trustUserCa(await openConsole(source), sandboxId, caKeys, stepContext().signal);
    },
    async admitReader({
      sandboxId,
      source,
      inspection,
    }: SourceTarget & { inspection: SourceInspection }): Promise<void> {
      await addSshdSettings(await openConsole(source), sandboxId, inspection, stepContext().signal);
    },
    /** Creates this host's own key to the source; the private half never leaves it. */
    async makeSourceKey({ sandboxId }: SourceTarget): Promise<KeyToCertify> {
      const { publicKey } = await credentials.makeCredentials(sandboxId);
      return { publicKey, signature: signOwnKey(signer, sandboxId, publicKey) };
    },
    /** Verifies the path from the network, with the certificate, through the gate. */
    async verifyReader({
      sandboxId,
      source,
      certificate,
      sshd,
    }: SourceTarget & { certificate: string; sshd: SourceSshd }): Promise<void> {
      sourceReads.close(sandboxId);
      await credentials.storeCertificate(sandboxId, certificate);
      const certify = async () => certificate;
      const { signal } = stepContext();
      const { end, stdout } = await sourceReads.ask({ id: sandboxId, name: source, sshd, certify }, PROBE, signal);
      if (end.exitCode === 0 && stdout.toString() === 'Linux\n') return;
      const why = end.refusal?.reason ?? end.reason ?? `exit ${end.exitCode ?? end.signal ?? 'unknown'}`;
      throw new MayflyError('prepare_failed', `The gate does not run \`uname -s\`: ${why}.`);
    },

    async forgetSource({ sandboxId }: SourceTarget): Promise<void> {
      sourceReads.close(sandboxId);
      await credentials.removeCredentials(sandboxId);
    },
    excludeReader: undo(openConsole, removeSshdSettings),
    distrustUserCa: undo(openConsole, distrustUserCa),
    removeReader: undo(openConsole, removeReader),
    removeGate: undo(openConsole, removeGate),
    releaseSource: undo(openConsole, releaseSource),
  };
}

/** Wraps a compensation: a source unknown to its host has nothing left to compensate. */
function undo(
  consoleOf: (name: string) => Promise<SourceConsole>,
  act: (console: SourceConsole, sourceId: string) => Promise<void>,
) {
  return async ({ sandboxId, source }: SourceTarget): Promise<void> => {
    const acting = consoleOf(source).then((console) => act(console, sandboxId));
    await nullIf(acting, (error) => isMayflyError(error, 'source_not_found'));
  };
}
