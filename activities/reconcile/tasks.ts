import { heartbeat } from '@temporalio/activity';
import { sourceIdOf } from '../../model/ids.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import { commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { bakeWorkflowIdOf } from '../../model/snapshots/bake-saga.ts';
import { captureWorkflowIdOf } from '../../model/snapshots/capture-saga.ts';
import { ephemeralSnapshotWorkflowIdOf, snapshotWorkflowIdOf } from '../../model/snapshots/snapshot-saga.ts';
import { sourceWorkflowIdOf } from '../../model/snapshots/source-access.ts';
import { PRESENT_TEMPLATE_STATES } from '../../model/templates/template.ts';
import { templateWorkflowIdOf } from '../../model/templates/template-saga.ts';
import { ENDED_WITHIN_MS, endSandboxes } from './ended-sandboxes.ts';
import type { ReconcileDeps } from './sandboxes.ts';

const actor = RECONCILER;

/**
 * What is done beside the sandboxes' own sagas, each by a workflow that may be gone: commands, snapshots, captures, bakes.
 * Who lost one of them is gone on with where that says the same twice, and else removed.
 */
export function createTaskReconcileActivities({ store, reconciliation }: ReconcileDeps) {
  async function isGone(...workflowIds: string[]): Promise<boolean> {
    heartbeat();
    for (const id of workflowIds) if (await reconciliation.isOpen(id)) return false;
    return true;
  }

  async function hasEnded(sandboxId: string): Promise<boolean> {
    const record = await store.sandboxes.get(sandboxId);
    return (record === null || isFinal(record.state)) && !(await reconciliation.sandboxes.isOpen(sandboxId));
  }

  return {
    /** Those that have not ended: a command is started once, so who goes on with it finds it as it is. */
    async resumeCommands({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      for (const { commandId } of await store.activity.openCommands()) {
        const record = await store.commands.get(commandId);
        if (!record || record.state === 'ended' || Date.parse(record.requestedAt) > before) continue;
        const workflowId = commandWorkflowIdOf(commandId);
        if (!(await isGone(workflowId))) continue;
        const { sandboxId, hostId, installationId } = record;
        const input = { commandId, sandboxId, hostId, installationId };
        await reconciliation.resume(workflowId, () => reconciliation.commands.resume(input));
      }
    },

    /** One whose sandbox lives is its sandbox's to finish. */
    async resumeSnapshots({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      for (const { id, sandboxId, hostId, installationId, state, reason, createdAt } of await store.snapshots.all([
        'creating',
        'deleting',
        'ready',
      ])) {
        if (Date.parse(createdAt) > before || (state === 'ready' && reason !== 'diff')) continue;
        if (!(await isGone(snapshotWorkflowIdOf(id), ephemeralSnapshotWorkflowIdOf(id)))) continue;
        if (state === 'creating') {
          if (!(await hasEnded(sandboxId))) continue;
          const message = `${sandboxId} ended while it was being taken, and its saga was lost.`;
          await store.snapshots.update(id, {
            state: 'failed',
            failure: { code: 'sandbox_lost', step: 'saveSnapshot', message },
          });
        }
        await reconciliation.snapshots.delete({ snapshotId: id, hostId, installationId, actor });
      }
    },

    /** A copy of a moment that is past is not taken once more. */
    async resumeCaptures({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      for (const { id: captureId, hostId, installationId, source, createdAt } of await store.captures.all([
        'creating',
        'deleting',
      ])) {
        if (Date.parse(createdAt) > before || !(await isGone(captureWorkflowIdOf({ hostId, source })))) continue;
        const at = new Date().toISOString();
        const sourceId = sourceIdOf(hostId, source);
        await reconciliation.captures.begin({
          task: 'delete',
          captureId,
          sourceId,
          hostId,
          installationId,
          source,
          actor,
          at,
        });
      }
    },

    /** One that is ready stays so; what was half made goes. */
    async resumeTemplates({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      const states = PRESENT_TEMPLATE_STATES.filter((state) => state !== 'failed');
      for (const record of await store.templates.all(states)) {
        const { hostId, installationId, key: templateKey, project, source, cpus, memoryMib, updatedAt } = record;
        const workflowId = templateWorkflowIdOf({ hostId, templateKey });
        if (Date.parse(updatedAt) > before || !(await isGone(workflowId))) continue;
        const of = { hostId, installationId, templateKey, project, source, cpus, memoryMib };
        await reconciliation.resume(workflowId, () =>
          reconciliation.templates.resume({ ...of, actor: record.createdBy }),
        );
      }
    },

    async resumeSources({ graceMs }: { graceMs: number }): Promise<void> {
      const before = Date.now() - graceMs;
      const waitUntil = Date.now() + ENDED_WITHIN_MS;
      for (const bake of await store.bakedSources.all(['baking', 'deleting'])) {
        const { id: sourceId, hostId, installationId, name, builderId, updatedAt } = bake;
        if (Date.parse(updatedAt) > before || !(await isGone(bakeWorkflowIdOf(hostId, name)))) continue;
        if (!(await endSandboxes({ store, reconciliation }, [builderId], waitUntil))) continue;
        await reconciliation.sources.delete({ sourceId, hostId, installationId, name, actor });
      }
      for (const state of ['preparing', 'unpreparing'] as const) {
        for (const { id: sourceId, hostId, installationId, name, updatedAt } of await store.sources.in(state)) {
          if (Date.parse(updatedAt) > before || !(await isGone(sourceWorkflowIdOf(hostId, name)))) continue;
          await reconciliation.sources.beginTask({ task: 'unprepare', sourceId, hostId, installationId, name, actor });
        }
      }
    },
  };
}
