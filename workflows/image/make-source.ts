import { executeChild, ParentClosePolicy } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import { deriveSourceId } from '../../model/ids.ts';
import { BAKE_SOURCE_WORKFLOW, bakeWorkflowId, DELETE_SOURCE_WORKFLOW } from '../../model/snapshots/bake-saga.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import type { bakeSource } from '../source/bake-source.ts';
import type { deleteSource } from '../source/delete-source.ts';
import type { ImageState } from './image-life.ts';

/** Source of a build, and its host. */
export interface MadeSource extends HostRef {
  sourceId: string;
}

/** @param onPlanned called with the future source before any of it is made */
export function makeSource(
  life: ImageState,
  snapshotId: string,
  onPlanned: (source: MadeSource) => void = () => {},
): Promise<MadeSource> {
  const { name, bakeId, bakerId: builderId, actor, timeouts, builder } = life.input;
  return life.step('makeSource', async () => {
    const { snapshot, host, like } = await control.imageSnapshot({ snapshotId });
    const { hostId } = host;
    const source = { sourceId: deriveSourceId(hostId, name), ...host };
    onPlanned(source);
    const baked = await executeChild<typeof bakeSource>(BAKE_SOURCE_WORKFLOW, {
      workflowId: bakeWorkflowId(hostId, name),
      args: [
        {
          bakeId,
          ...source,
          name,
          snapshot,
          builderId,
          ...(builder.size && { size: builder.size }),
          ...(like != null && { like }),
          actor,
          requestedAt: now(),
          ...(timeouts && { timeouts }),
        },
      ],
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      staticSummary: `${name} of ${snapshotId} on ${hostId}`,
    });
    if (baked.state !== 'ready') {
      const { code = 'bake_failed' as const, message = baked.state } = baked.failure ?? {};
      throw refusal(code, message);
    }
    return source;
  });
}

/** Compensates {@link makeSource}, unless another build owns the name by now. @throws when it must be retried */
export async function compensateMakeSource({ input }: ImageState, source: MadeSource): Promise<void> {
  const { name, bakeId, actor, timeouts } = input;
  const { sourceId, hostId } = source;
  if (!(await controlUntilDone.isBakedBy({ sourceId, bakeId }))) return;
  const deleted = await executeChild<typeof deleteSource>(DELETE_SOURCE_WORKFLOW, {
    workflowId: bakeWorkflowId(hostId, name),
    args: [{ ...source, name, actor, ...(timeouts && { timeouts }) }],
    parentClosePolicy: ParentClosePolicy.ABANDON,
    staticSummary: `${name} on ${hostId}, which is not ready`,
  });
  if (deleted.state !== 'deleted')
    throw refusal(deleted.failure?.code ?? 'source_in_use', deleted.failure?.message ?? '');
}
