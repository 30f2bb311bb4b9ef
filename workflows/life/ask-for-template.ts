import { log, patched, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { hostOf } from '../../model/sandbox/sandbox.ts';
import type { Life } from './life.ts';

/** By the queue: nobody who waits for the sandbox waits for this too. */
const { wantTemplate } = proxyActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '500ms', maximumInterval: '5s', maximumAttempts: 5 },
});

/** After a create that booted since there was no template yet: the next shall find one. When that fails, the next asks again. */
export function askForTemplate({ id, templateKey, record }: Life): void {
  const host = hostOf(record);
  if (templateKey === null || host === null || record.boot?.way !== 'cold' || !patched('templates')) return;
  const { project, createdBy: actor, spec } = record;
  const { source, cpus, memoryMib } = spec;
  const { installationId = null } = host;
  wantTemplate({
    input: { ...host, templateKey, project, source, cpus, memoryMib, actor },
    wish: { installationId },
  }).catch((error: unknown) => log.warn('a template was not asked for', { sandboxId: id, why: String(error) }));
}
