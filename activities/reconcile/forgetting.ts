import { heartbeat } from '@temporalio/activity';
import type { ForgetHostInput } from '../../model/sagas/forget-host.ts';
import { type CommandRecord, commandWorkflowIdOf } from '../../model/sandbox/command.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { bakeWorkflowIdOf } from '../../model/snapshots/baked-source.ts';
import { captureWorkflowIdOf } from '../../model/snapshots/capture.ts';
import { ephemeralSnapshotWorkflowIdOf, snapshotWorkflowIdOf } from '../../model/snapshots/snapshot.ts';
import { PRESENT_TEMPLATE_STATES } from '../../model/templates/template.ts';
import { templateWorkflowIdOf } from '../../model/templates/template-saga.ts';
import type { ReconcileDeps } from './sandboxes.ts';

/** What is on a host beside sandboxes, and waits for it, once that is given up. */
export function createForgettingActivities({ store, reconciliation }: ReconcileDeps) {
  async function endCommand(record: CommandRecord, { hostId, actor, at }: ForgetHostInput): Promise<void> {
    const { id, sandboxId } = record;
    const reason = `unproved: ${hostId} was forgotten while it ran`;
    await reconciliation.terminate(commandWorkflowIdOf(id), reason);
    const outcome = record.state === 'requested' ? 'not-started' : 'unknown';
    await store.commands.update(id, { state: 'ended', outcome, reason, endedAt: at });
    await store.commandInputs.remove(id);
    await store.activity.closeCommand(sandboxId, id);
    const detail = { commandId: id, outcome, reason };
    const eventId = `${id}/command.ended`;
    await store.audit.append(sandboxId, { eventId, kind: 'command.ended', actor, runId: null, hostId, at, detail });
  }

  return {
    /**
     * Commands that run there end `unknown`; snapshots, captures and sources that were made there have `failed`, and count in
     * no quota; templates are gone. What waits for the host in Temporal ends.
     */
    async forgetThingsOn(input: ForgetHostInput): Promise<void> {
      const { hostId } = input;
      const why = `unproved: ${hostId} was forgotten`;
      const failure: SandboxFailure = { code: 'host_forgotten', step: 'forget', message: why };
      const isThere = (thing: { hostId: string }) => thing.hostId === hostId;
      const end = async (...workflowIds: string[]) => {
        heartbeat();
        for (const id of workflowIds) await reconciliation.terminate(id, why);
      };
      for (const { commandId } of await store.activity.openCommands()) {
        const record = await store.commands.get(commandId);
        if (record && isThere(record) && record.state !== 'ended') await endCommand(record, input);
      }
      for (const { id } of (await store.snapshots.all(['creating', 'ready', 'deleting'])).filter(isThere)) {
        await end(snapshotWorkflowIdOf(id), ephemeralSnapshotWorkflowIdOf(id));
        await store.snapshots.update(id, { state: 'failed', failure });
      }
      for (const capture of (await store.captures.all(['creating', 'ready', 'deleting'])).filter(isThere)) {
        await end(captureWorkflowIdOf(capture));
        await store.captures.update(capture.id, { state: 'failed', failure });
      }
      for (const template of (await store.templates.all(PRESENT_TEMPLATE_STATES)).filter(isThere)) {
        await end(templateWorkflowIdOf({ hostId, templateKey: template.key }));
        await store.templates.put({ ...template, state: 'gone', reason: why, waitingFor: null, retryAt: null });
      }
      for (const { id, name } of (await store.bakedSources.all(['baking', 'ready', 'deleting'])).filter(isThere)) {
        await end(bakeWorkflowIdOf(hostId, name));
        await store.bakedSources.update(id, { state: 'failed', failure, waitingFor: null });
      }
    },
  };
}

export type ForgettingActivities = ReturnType<typeof createForgettingActivities>;
