import { createHash } from 'node:crypto';
import { commandIdFrom, ID_BYTES } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { CHECK_ARGV, CHECK_FOLDER, parseRuns } from '../../model/playbook/check-program.ts';
import { isPlaybookOver, type PlaybookRecord, type PlaybookRun } from '../../model/playbook/playbook.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { newCommandRecord } from '../../model/sandbox/command.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { recordCommand } from '../../services/commands/record-command.ts';
import { endOfLog } from '../image/log-end.ts';
import { requireHost } from '../sandbox/require-host.ts';
import { takeSnapshot } from '../snapshot/taken-snapshot.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

interface PlaybookChange {
  playbookId: string;
  /** Sandbox whose audit trail gets the event. */
  sandboxId: string;
  changes: Partial<PlaybookRecord>;
  /** Event; null: none. */
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

/** Activities of a playbook on the store and its sandboxes. */
export function createPlaybookActivities({ store, reconciliation }: SagaDeps) {
  return {
    /** Changes the record and appends to the audit trail. Idempotent by the event's id. */
    async rememberPlaybook({ playbookId, sandboxId, changes, event }: PlaybookChange): Promise<boolean> {
      if (isPlaybookOver((await store.playbooks.get(playbookId))?.state ?? 'diffing')) return true;
      await store.playbooks.update(playbookId, changes);
      if (event) await store.audit.record(sandboxId, event);
      return false;
    },

    /** Snapshots a sandbox, once; resolves when the snapshot is ready. @returns its host */
    async takePlaybookSnapshot({ sandboxId, snapshotId, actor }: PlaybookSnapshotRef): Promise<{ hostId: string }> {
      const wish = { operationId: snapshotId, reason: 'diff', actor } as const;
      const { hostId } = await takeSnapshot({ store, reconciliation }, sandboxId, wish);
      return { hostId };
    },

    /**
     * Records the command that checks a playbook, which its workflow then starts. Idempotent: the command's id is the
     * playbook's.
     */
    async beginPlaybookCheck({ playbookId, checkerId, actor }: PlaybookCheckRef): Promise<CommandInput> {
      const host = await requireHost(store, checkerId, `The fresh sandbox ${checkerId}`);
      const { timeoutSeconds, outputBytes: maxOutputBytes } = LIMITS.playbook;
      const spec = { command: null, argv: CHECK_ARGV, cwd: CHECK_FOLDER, user: 'root', envNames: [], stdinOpen: false };
      const commandId = checkIdOf(playbookId);
      const whole = { ...spec, timeoutSeconds, maxOutputBytes };
      const command = newCommandRecord(commandId, { id: checkerId, ...host }, whole, actor);
      return recordCommand(store, command, { env: {}, stdin: new Uint8Array() });
    },

    /** Returns Ansible's results; `why`: the second run did not finish. */
    async playbookRuns({ playbookId }: { playbookId: string }): Promise<{ runs: PlaybookRun[]; why: string | null }> {
      const command = await store.commands.get(checkIdOf(playbookId));
      const chunk = await store.output.chunk(checkIdOf(playbookId), 'stdout', 0);
      const runs = parseRuns(Buffer.from(chunk?.bytes ?? []).toString('utf8'));
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
