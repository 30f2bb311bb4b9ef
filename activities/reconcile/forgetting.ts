import { heartbeat } from '@temporalio/activity';
import { type ImageRecord, isImageFinal, listBuildSandboxes } from '../../model/image/image.ts';
import { imageWorkflowId } from '../../model/image/image-saga.ts';
import { isPlaybookOver, type PlaybookRecord } from '../../model/playbook/playbook.ts';
import { playbookWorkflowIdOf } from '../../model/playbook/playbook-saga.ts';
import type { DecommissionHostInput } from '../../model/sagas/forget-host.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { commandWorkflowIdOf } from '../../model/sandbox/command-saga.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { bakeWorkflowId } from '../../model/snapshots/bake-saga.ts';
import { captureWorkflowId } from '../../model/snapshots/capture-saga.ts';
import { ephemeralSnapshotWorkflowIdOf, snapshotWorkflowId } from '../../model/snapshots/snapshot-saga.ts';
import { PRESENT_TEMPLATE_STATES } from '../../model/templates/template.ts';
import { templateWorkflowId } from '../../model/templates/template-saga.ts';
import { recordRetainedGone } from '../snapshot/tell-gone.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { failImage, failPlaybook } from './fail-task.ts';

const CODE = 'host_forgotten' as const;
const whyOf = (hostId: string) => `unproved: ${hostId} was forgotten`;

/** Activities that detach everything except sandboxes from a decommissioned host. */
export function createDecommissionActivities({ store, reconciliation }: SagaDeps) {
  async function endCommand(record: CommandRecord, { hostId, actor, at }: DecommissionHostInput): Promise<void> {
    const { id, sandboxId } = record;
    const reason = `unproved: ${hostId} was forgotten while it ran`;
    await reconciliation.terminate(commandWorkflowIdOf(id), reason);
    const isOver = (await store.commands.get(id))?.state === 'ended'; // it ended in the meantime
    const outcome = record.state === 'requested' ? 'not-started' : 'unknown';
    if (!isOver) await store.commands.update(id, { state: 'ended', outcome, reason, endedAt: at });
    await store.commandInputs.remove(id);
    await store.activity.closeCommand(sandboxId, id);
    if (isOver) return;
    const detail = { commandId: id, outcome, reason };
    const eventId = `${id}/command.ended`;
    await store.audit.record(sandboxId, { eventId, kind: 'command.ended', actor, runId: null, hostId, at, detail });
  }

  /** Reports whether a task uses a sandbox on the host; such a task can't run on another. */
  async function isOn(hostId: string, sandboxIds: readonly string[]): Promise<boolean> {
    const records = await Promise.all(sandboxIds.map((id) => store.sandboxes.get(id)));
    return records.some((record) => record?.hostId === hostId);
  }

  async function endPlaybook(playbook: PlaybookRecord, end: DecommissionHostInput): Promise<void> {
    const failure = { code: CODE, message: whyOf(end.hostId) };
    await reconciliation.terminate(playbookWorkflowIdOf(playbook.id), failure.message);
    if (isPlaybookOver((await store.playbooks.get(playbook.id))?.state ?? 'failed')) return; // it ended in the meantime
    await failPlaybook(store, playbook, { failure, ...end });
  }

  async function endImage(image: ImageRecord, end: DecommissionHostInput): Promise<void> {
    const failure = { code: CODE, message: whyOf(end.hostId) };
    await reconciliation.terminate(imageWorkflowId(image), failure.message);
    if (isImageFinal((await store.images.get(image.id))?.state ?? 'failed')) return; // it ended in the meantime
    await failImage(store, image, { failure, ...end });
  }

  /** Ends the playbooks and builds on the host, before the sandboxes and snapshots that they wait for. */
  async function endTasksOn(input: DecommissionHostInput): Promise<void> {
    const { hostId } = input;
    for (const playbook of await store.playbooks.underWay()) {
      heartbeat();
      if (await isOn(hostId, [playbook.sandboxId, playbook.checkerId])) await endPlaybook(playbook, input);
    }
    for (const image of await store.images.underWay()) {
      heartbeat();
      if (await isOn(hostId, listBuildSandboxes(image))) await endImage(image, input);
    }
  }

  return {
    /**
     * Fails playbooks and builds on the host. Ends its commands as `unknown`; fails its snapshots, captures and
     * sources, which then count in no quota; removes its templates. Terminates their workflows.
     */
    async forgetThingsOn(input: DecommissionHostInput): Promise<void> {
      const { hostId } = input;
      const why = whyOf(hostId);
      const failure: SandboxFailure = { code: CODE, step: 'forget', message: why };
      const isThere = (thing: { hostId: string }) => thing.hostId === hostId;
      const end = async (...workflowIds: string[]) => {
        heartbeat();
        for (const id of workflowIds) await reconciliation.terminate(id, why);
      };
      await endTasksOn(input);
      for (const { commandId } of await store.activity.openCommands()) {
        const record = await store.commands.get(commandId);
        if (record && isThere(record) && record.state !== 'ended') await endCommand(record, input);
      }
      for (const { id } of (await store.snapshots.all(['creating', 'ready', 'deleting'])).filter(isThere)) {
        await end(snapshotWorkflowId(id), ephemeralSnapshotWorkflowIdOf(id));
        await recordRetainedGone(store, await store.snapshots.update(id, { state: 'failed', failure }));
      }
      for (const capture of (await store.captures.all(['creating', 'ready', 'deleting'])).filter(isThere)) {
        await end(captureWorkflowId(capture));
        await store.captures.update(capture.id, { state: 'failed', failure });
      }
      for (const template of (await store.templates.all(PRESENT_TEMPLATE_STATES)).filter(isThere)) {
        await end(templateWorkflowId({ hostId, templateKey: template.key }));
        await store.templates.put({ ...template, state: 'gone', reason: why, waitingFor: null, retryAt: null });
      }
      for (const { id, name } of (await store.bakedSources.all(['baking', 'ready', 'deleting'])).filter(isThere)) {
        await end(bakeWorkflowId(hostId, name));
        await store.bakedSources.update(id, { state: 'failed', failure, waitingFor: null });
      }
    },
  };
}
