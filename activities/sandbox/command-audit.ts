import { Context } from '@temporalio/activity';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { Store } from '../../store/connect.ts';

/** Age at which a command that was never handed to Temporal will not start. Milliseconds. */
export const ABANDONED_AFTER_MS = 600_000;

/** Activities for commands in the audit trail, which never contains environment values or standard input. */
export function createCommandAuditActivities({ store }: { store: Store }) {
  async function append(record: CommandRecord, kind: AuditKind, actor: Actor | null, detail: object): Promise<void> {
    const event: AuditEvent = {
      eventId: `${record.id}/${kind}`,
      kind,
      actor,
      runId: Context.current().info.workflowExecution?.runId ?? null,
      hostId: record.hostId,
      at: new Date().toISOString(),
      detail: { commandId: record.id, ...detail },
    };
    await store.audit.record(record.sandboxId, event);
  }

  async function appendStarted(record: CommandRecord): Promise<void> {
    await append(record, 'command.started', null, { startedAt: record.startedAt });
  }

  return {
    /** @returns true when the command exists */
    async commandRequested({ commandId }: { commandId: string }): Promise<boolean> {
      const record = await store.commands.get(commandId);
      if (!record) return false;
      const { command, argv, cwd, user, envNames, timeoutSeconds } = record.spec;
      const what = { command, argv, cwd, user, env: envNames, timeoutSeconds, requestedAt: record.requestedAt };
      await append(record, 'command.requested', record.createdBy, what);
      return true;
    },

    /** @returns true when it has started, which is then audited */
    async commandStarted({ commandId }: { commandId: string }): Promise<boolean> {
      const record = await store.commands.get(commandId);
      if (!record?.startedAt) return false;
      await appendStarted(record);
      return true;
    },

    async commandCancelAsked({ commandId, actor }: { commandId: string; actor: Actor }): Promise<void> {
      const record = await store.commands.get(commandId);
      if (record) await append(record, 'command.cancel-asked', actor, {});
    },

    /** @param startTold true when its start is already audited */
    async commandEnded({ commandId, startTold }: { commandId: string; startTold: boolean }): Promise<void> {
      const record = await store.commands.get(commandId);
      if (!record) return;
      if (record.startedAt && !startTold) await appendStarted(record);
      const { outcome, exitCode, signal, reason, failure, stdout, stderr, startedAt, endedAt } = record;
      const how = { outcome, exitCode, signal, reason, failure, stdout, stderr, startedAt, endedAt };
      await append(record, 'command.ended', null, how);
    },

    /** Returns the time of a sandbox's last use, ISO 8601, and whether a command is running. */
    async lastUse({ sandboxId }: { sandboxId: string }): Promise<{ usedAt: string; isBusy: boolean }> {
      const { usedAt, openCommands } = await store.activity.get(sandboxId);
      const open = await Promise.all(openCommands.map((id) => store.commands.get(id)));
      const isBusy = open.some(
        (record) =>
          record?.state === 'running' ||
          (record?.state === 'requested' && Date.now() - Date.parse(record.requestedAt) < ABANDONED_AFTER_MS),
      );
      return { usedAt: new Date(usedAt).toISOString(), isBusy };
    },
  };
}
