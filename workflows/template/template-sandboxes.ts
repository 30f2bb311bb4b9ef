import type { SandboxInput } from '../../model/sagas/messages.ts';
import { now } from '../saga/now.ts';
import { TaskSandbox } from '../source/task-sandbox.ts';
import type { RecordedTemplate } from './template-life.ts';

/** TTL of sandboxes that their task fails to destroy. Seconds. */
const TTL_SECONDS = { builder: 1_800, probe: 900 };

/**
 * Returns the sandboxes of a build, on the template's host only: the one whose memory is saved, and those that wake
 * from it.
 */
export function templateSandboxes(task: RecordedTemplate): { builder: TaskSandbox; probes: TaskSandbox[] } {
  const { builderId, probeIds } = task.record;
  return {
    builder: new TaskSandbox(inputOf(task, builderId, 'builder'), 'template_failed'),
    probes: probeIds.map((id) => new TaskSandbox(inputOf(task, id, 'probe'), 'template_failed')),
  };
}

function inputOf({ record, life }: RecordedTemplate, id: string, template: 'builder' | 'probe'): SandboxInput {
  const { source, hostId, installationId, project, createdBy } = record;
  const { timeouts } = life.input;
  const isBuilder = template === 'builder';
  return {
    id,
    spec: {
      source,
      snapshotId: isBuilder ? null : record.id,
      cpus: isBuilder ? record.cpus : null,
      memoryMib: isBuilder ? record.memoryMib : null,
      ttlSeconds: TTL_SECONDS[template],
      idleSeconds: null,
      autoResume: false,
      metadata: { purpose: `${template} of the template ${record.id}` },
      agentId: null,
      network: { egress: 'none' },
      boot: 'cold',
    },
    createdBy: { ...createdBy, project },
    requestedAt: now(),
    begin: 'create',
    hosts: [{ hostId, installationId }],
    mayBeOff: isBuilder,
    template,
    ...(timeouts && { timeouts }),
  };
}
