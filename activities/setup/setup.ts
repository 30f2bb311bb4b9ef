import { getRequestedCommands } from '../../model/approvals/command-pattern.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { toAttemptEnd } from '../../model/functions/command-end.ts';
import { FILES_FOLDER } from '../../model/functions/guest-layout.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import {
  deriveSetupTry,
  OPEN_SETUP_STATES,
  type SetupRecord,
  type SetupTry,
} from '../../model/functions/setup/setup.ts';
import type { SetupRef, SetupTask } from '../../model/functions/setup/setup-saga.ts';
import type { HostRef } from '../../model/host.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { newCommandRecord } from '../../model/sandbox/command.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import { getSourceSize } from '../../model/source-content.ts';
import { recordCommand } from '../../services/commands/record-command.ts';
import { admitSandbox } from '../function/prepared/admitted-sandbox.ts';
import { refuseByPolicy } from '../function/prepared/policy.ts';
import { requireHost } from '../sandbox/require-host.ts';
import { takeSnapshot } from '../snapshot/taken-snapshot.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

export interface SetupAttemptRef extends SetupRef {
  tried: SetupTry;
}

/** TTL beyond the script's timeout, for a sandbox that its workflow fails to end. Seconds. */
const SPARE_SECONDS = 7_200;
/** Output limit per stream of its script, whose end is shown. Bytes. */
const OUTPUT_BYTES = 1_048_576;

/** Activities that prepare a setup. They read its record each time. */
export function createSetupActivities({ store, reconciliation }: SagaDeps) {
  /** @throws MayflyError setup_not_ready: no longer needed */
  async function requirePreparing({ project, setupKey: key, tried }: SetupAttemptRef): Promise<SetupRecord> {
    const found = await store.functionSetups.get({ project, key });
    if (found?.state === 'preparing' && found.tries === tried.n) return found;
    throw new MayflyError('setup_not_ready', 'Nobody needs this setup any more.');
  }

  return {
    async lookAtSetup({ project, setupKey: key }: SetupRef): Promise<SetupTask> {
      const found = await store.functionSetups.get({ project, key });
      if (!found || !OPEN_SETUP_STATES.some((state) => state === found.state)) return { task: 'none', last: null };
      const task = found.state === 'removing' ? 'remove' : 'prepare';
      return { task, last: found.tries === 0 ? null : deriveSetupTry(found, found.tries) };
    },

    /** Starts an attempt; earlier ones are removed. @returns null: no longer needed */
    async beginSetupTry({ project, setupKey: key }: SetupRef): Promise<SetupTry | null> {
      for (;;) {
        const found = await store.functionSetups.get({ project, key });
        if (found?.state !== 'preparing') return null;
        const n = found.tries + 1;
        if (await store.functionSetups.change(found, { tries: n, waitingFor: null })) return deriveSetupTry(found, n);
      }
    },

    /** @throws MayflyError why it gets no sandbox */
    async setupSandbox(of: SetupAttemptRef): Promise<SandboxInput> {
      const { wish, project, createdBy } = await requirePreparing(of);
      const { source, cpus, memoryMib, network, timeoutSeconds } = wish;
      const size = getSourceSize(source, await store.hosts.list(), { cpus, memoryMib });
      const { script, env, user } = wish;
      const runs = getRequestedCommands({ command: script, env, user: user ?? undefined });
      const facts = { egress: network.egress, memoryMib: size.memoryMib, runs };
      const countRule = await refuseByPolicy(store, project, facts);
      await admitSandbox({ store, reconciliation }, project, of.tried.sandboxId, { source, size }, countRule);
      return {
        id: of.tried.sandboxId,
        spec: {
          source,
          snapshotId: null,
          captureId: null,
          cpus,
          memoryMib,
          ttlSeconds: timeoutSeconds + SPARE_SECONDS,
          idleSeconds: null,
          autoResume: false,
          metadata: { purpose: 'prepares runs of a function' },
          agentId: null,
          network,
        },
        size,
        createdBy,
        requestedAt: new Date().toISOString(),
        begin: 'create',
        builds: 'run',
        hosts: [],
      };
    },

    async setupHost({ tried }: SetupAttemptRef): Promise<HostRef> {
      return requireHost(store, tried.sandboxId);
    },

    /** Records the command of its script, which its workflow then starts. */
    async beginSetupScript(of: SetupAttemptRef): Promise<CommandInput> {
      const { wish, createdBy } = await requirePreparing(of);
      const { sandboxId, commandId } = of.tried;
      const host = await requireHost(store, sandboxId);
      const { script: command, user, timeoutSeconds, env } = wish;
      const spec = { command, argv: null, cwd: FILES_FOLDER, user, timeoutSeconds, maxOutputBytes: OUTPUT_BYTES };
      const whole = { ...spec, envNames: Object.keys(env), stdinOpen: false };
      const record = newCommandRecord(commandId, { id: sandboxId, ...host }, whole, createdBy);
      return recordCommand(store, record, { env, stdin: new Uint8Array() });
    },

    /** @returns the failure of its script; null: it succeeded */
    async setupScriptFailure(of: SetupAttemptRef): Promise<RunFailure | null> {
      const command = await store.commands.get(of.tried.commandId);
      if (!command) return { code: 'internal', message: 'Nothing is known of its script.' };
      const { outcome, failure } = toAttemptEnd(command);
      if (outcome === 'succeeded') return null;
      const code = outcome === 'failed' || outcome === 'timed-out' ? 'setup_failed' : (failure?.code ?? 'setup_failed');
      return { code, message: `Its script failed: ${failure?.message ?? outcome}` };
    },

    /**
     * Snapshots its sandbox, once: disks and memory; disks only, when its host can't save memory.
     * @throws MayflyError the failure
     */
    async takeSetupSnapshot(of: SetupAttemptRef): Promise<{ snapshotId: string }> {
      const found = await requirePreparing(of);
      const { createdBy: actor } = found;
      const { sandboxId, snapshotId, diskSnapshotId } = deriveSetupTry(found, found.tries); // never from the input
      const wish = { reason: 'setup', actor } as const;
      try {
        await takeSnapshot({ store, reconciliation }, sandboxId, {
          ...wish,
          operationId: snapshotId,
          snapshotKind: 'full',
        });
        return { snapshotId };
      } catch (error) {
        if (!isMayflyError(error, 'snapshot_unsupported')) throw error;
      }
      await takeSnapshot({ store, reconciliation }, sandboxId, { ...wish, operationId: diskSnapshotId });
      return { snapshotId: diskSnapshotId };
    },
  };
}
