import { log } from '@temporalio/workflow';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import { controlStep } from '../saga/control.ts';
import type { SandboxEntity } from './entity.ts';

/** After a create that booted since there was no template yet: the next shall find one. When that fails, the next asks again. */
export function requestTemplate({ id, templateKey, record }: SandboxEntity): void {
  const host = hostOf(record);
  if (templateKey === null || host === null || record.boot?.way !== 'cold') return;
  const { project, createdBy: actor, spec } = record;
  const { source, cpus, memoryMib } = spec;
  const { installationId } = host;
  controlStep
    .wantTemplate({
      input: { ...host, templateKey, project, source, cpus, memoryMib, actor },
      wish: { installationId },
    })
    .catch((error: unknown) => log.warn('a template was not asked for', { sandboxId: id, why: String(error) }));
}
