import { deriveSourceId } from '../../model/ids.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import { commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { bakeWorkflowId } from '../../model/snapshots/bake-saga.ts';
import { captureWorkflowId } from '../../model/snapshots/capture-saga.ts';
import { ephemeralSnapshotWorkflowIdOf, snapshotWorkflowId } from '../../model/snapshots/snapshot-saga.ts';
import { sourceWorkflowId } from '../../model/snapshots/source-access.ts';
import { PRESENT_TEMPLATE_STATES } from '../../model/templates/template.ts';
import { templateWorkflowId } from '../../model/templates/template-saga.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { END_TIMEOUT_MS, endSandboxes } from './ended-sandboxes.ts';
import { findLost } from './find-lost.ts';

const actor = RECONCILER;

/**
 * Activities for tasks whose workflows are lost: commands, snapshots, captures, bakes. Resumes idempotent tasks,
 * removes the others.
 */
export function createTaskReconcileActivities({ store, reconciliation }: SagaDeps) {
  async function hasEnded(sandboxId: string): Promise<boolean> {
    const record = await store.sandboxes.get(sandboxId);
    return (record === null || isFinal(record.state)) && !(await reconciliation.sandboxes.isOpen(sandboxId));
  }

  return {
    /** Resumes commands that have not ended: each is started once, so a new workflow finds it as it is. */
    async resumeCommands({ graceMs }: { graceMs: number }): Promise<void> {
      const ids = (await store.activity.openCommands()).map(({ commandId }) => commandId);
      const records = (await Promise.all(ids.map((id) => store.commands.get(id)))).filter((record) => record !== null);
      const open = records.filter(({ state }) => state !== 'ended');
      const lost = findLost({ reconciliation, graceMs }, open, ({ id, requestedAt: since }) => ({
        since,
        workflowIds: [commandWorkflowIdOf(id)],
      }));
      for await (const { id: commandId, sandboxId, hostId, installationId } of lost) {
        const input = { commandId, sandboxId, hostId, installationId };
        await reconciliation.resume(commandWorkflowIdOf(commandId), () => reconciliation.commands.resume(input));
      }
    },

    /** Deletes unfinished snapshots, and those for a comparison. A living sandbox handles its own unfinished ones. */
    async resumeSnapshots({ graceMs }: { graceMs: number }): Promise<void> {
      const snapshots = await store.snapshots.all(['creating', 'deleting', 'ready']);
      const unfinished = snapshots.filter(({ state, reason }) => state !== 'ready' || reason === 'diff');
      const lost = findLost({ reconciliation, graceMs }, unfinished, ({ id, createdAt: since }) => ({
        since,
        workflowIds: [snapshotWorkflowId(id), ephemeralSnapshotWorkflowIdOf(id)],
      }));
      for await (const { id: snapshotId, sandboxId, hostId, installationId, state } of lost) {
        if (state === 'creating') {
          if (!(await hasEnded(sandboxId))) continue;
          const message = `${sandboxId} ended while it was being taken, and its saga was lost.`;
          const failure = { code: 'sandbox_lost', step: 'saveSnapshot', message } as const;
          await store.snapshots.update(snapshotId, { state: 'failed', failure });
        }
        await reconciliation.snapshots.delete({ snapshotId, hostId, installationId, actor });
      }
    },

    /** Deletes unfinished captures: their moment has passed. */
    async resumeCaptures({ graceMs }: { graceMs: number }): Promise<void> {
      const captures = await store.captures.all(['creating', 'deleting']);
      const lost = findLost({ reconciliation, graceMs }, captures, (capture) => ({
        since: capture.createdAt,
        workflowIds: [captureWorkflowId(capture)],
      }));
      for await (const { id: captureId, hostId, installationId, source } of lost) {
        const sourceId = deriveSourceId(hostId, source);
        const at = new Date().toISOString();
        const task = { task: 'delete', captureId, sourceId, hostId, installationId, source, actor, at } as const;
        await reconciliation.captures.begin(task);
      }
    },

    /** Resumes templates: a ready one stays, an unfinished one is removed. */
    async resumeTemplates({ graceMs }: { graceMs: number }): Promise<void> {
      const templates = await store.templates.all(PRESENT_TEMPLATE_STATES.filter((state) => state !== 'failed'));
      const lost = findLost(
        { reconciliation, graceMs },
        templates,
        ({ hostId, key: templateKey, updatedAt: since }) => ({
          since,
          workflowIds: [templateWorkflowId({ hostId, templateKey })],
        }),
      );
      for await (const record of lost) {
        const { hostId, installationId, key: templateKey, project, source, cpus, memoryMib, createdBy } = record;
        const input = { hostId, installationId, templateKey, project, source, cpus, memoryMib, actor: createdBy };
        await reconciliation.resume(templateWorkflowId(input), () => reconciliation.templates.resume(input));
      }
    },

    async resumeSources({ graceMs }: { graceMs: number }): Promise<void> {
      const waitUntil = Date.now() + END_TIMEOUT_MS;
      const bakes = findLost(
        { reconciliation, graceMs },
        await store.bakedSources.all(['baking', 'deleting']),
        ({ hostId, name, updatedAt: since }) => ({ since, workflowIds: [bakeWorkflowId(hostId, name)] }),
      );
      for await (const { id: sourceId, hostId, installationId, name, builderId } of bakes) {
        if (!(await endSandboxes({ store, reconciliation }, [builderId], waitUntil))) continue;
        await reconciliation.sources.delete({ sourceId, hostId, installationId, name, actor });
      }
      const sources = findLost(
        { reconciliation, graceMs },
        [...(await store.sources.in('preparing')), ...(await store.sources.in('unpreparing'))],
        ({ hostId, name, updatedAt: since }) => ({ since, workflowIds: [sourceWorkflowId(hostId, name)] }),
      );
      for await (const { id: sourceId, hostId, installationId, name } of sources) {
        await reconciliation.sources.beginTask({ task: 'unprepare', sourceId, hostId, installationId, name, actor });
      }
    },
  };
}
