import { createHash } from 'node:crypto';
import { commandIdFrom, ID_BYTES } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { CHECK_ARGV, CHECK_FOLDER, runsIn } from '../../model/playbook/check-program.ts';
import { isPlaybookOver, type PlaybookRecord, type PlaybookRun } from '../../model/playbook/playbook.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { requestedCommand } from '../../model/sandbox/command.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { recordCommand } from '../../services/commands/record-command.ts';
import { endOfLog } from '../image/log-end.ts';
import { requireHost } from '../sandbox/require-host.ts';
import { takenSnapshot } from '../snapshot/taken-snapshot.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

interface PlaybookRemembrance {
  playbookId: string;
  /** Whose audit trail tells of it. */
  sandboxId: string;
  changes: Partial<PlaybookRecord>;
  /** Null: not for the audit trail. */
  event: AuditEvent | null;
}

interface PlaybookSnapshotRef {
  sandboxId: string;
  snapshotId: string;
  actor: Actor;
}

interface PlaybookCheckRef {
  playbookId: string;
  checkerId: string;
  actor: Actor;
}

/** What a playbook asks of the store, and of the sandboxes that it is about. */
export function createPlaybookActivities({ store, reconciliation }: SagaDeps) {
  return {
    /** Changes the record and appends to the audit trail. The event's id makes a repetition harmless. */
    async rememberPlaybook({ playbookId, sandboxId, changes, event }: PlaybookRemembrance): Promise<boolean> {
      if (isPlaybookOver((await store.playbooks.get(playbookId))?.state ?? 'diffing')) return true;
      await store.playbooks.update(playbookId, changes);
      if (event) await store.audit.record(sandboxId, event);
      return false;
    },

    /** Has a sandbox take a snapshot, once; resolves when it is whole, and says when it was taken. */
    async takePlaybookSnapshot({ sandboxId, snapshotId, actor }: PlaybookSnapshotRef): Promise<{ hostId: string }> {
      const wish = { operationId: snapshotId, reason: 'diff', actor } as const;
      const { hostId } = await takenSnapshot({ store, reconciliation }, sandboxId, wish);
      return { hostId };
    },

    /** Writes down the command that tries a playbook, which is begun by whoever is told; the same playbook, the same command. */
    async beginPlaybookCheck({ playbookId, checkerId, actor }: PlaybookCheckRef): Promise<CommandInput> {
      const host = await requireHost(store, checkerId, `The fresh sandbox ${checkerId}`);
      const { timeoutSeconds, outputBytes: maxOutputBytes } = LIMITS.playbook;
      const spec = { command: null, argv: CHECK_ARGV, cwd: CHECK_FOLDER, user: 'root', envNames: [], stdinOpen: false };
      const commandId = checkIdOf(playbookId);
      const whole = { ...spec, timeoutSeconds, maxOutputBytes };
      const command = requestedCommand(commandId, { id: checkerId, ...host }, whole, actor);
      return recordCommand(store, command, { env: {}, stdin: new Uint8Array() });
    },

    /** What Ansible said; `why`: it did not come to the end of a second run. */
    async playbookRuns({ playbookId }: { playbookId: string }): Promise<{ runs: PlaybookRun[]; why: string | null }> {
      const command = await store.commands.get(checkIdOf(playbookId));
      const chunk = await store.output.chunk(checkIdOf(playbookId), 'stdout', 0);
      const runs = runsIn(Buffer.from(chunk?.bytes ?? []).toString('utf8'));
      const failed = runs.find((run) => run.failed > 0);
      if (failed) return { runs, why: `it does not run to its end: ${failed.message ?? 'a task failed'}` };
      if (runs.length === 2) return { runs, why: null };
      const said = command ? await endOfLog(store.output, command) : '';
      return { runs, why: `Ansible did not run (${command?.outcome ?? 'unknown'}): ${said.slice(-500)}` };
    },
  };
}

function checkIdOf(playbookId: string): string {
  return commandIdFrom(createHash('sha256').update(`${playbookId}/check`).digest().subarray(0, ID_BYTES));
}
