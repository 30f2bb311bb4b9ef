import { randomBytes } from 'node:crypto';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import { TEST_TIMEOUTS } from './test-timeouts.ts';

export function buildSandboxInput(spec: Partial<SandboxSpec>, timeouts: Partial<Timeouts>): SandboxInput {
  return {
    id: sandboxIdFrom(randomBytes(ID_BYTES)),
    spec: {
      source: 'golden-debian12',
      snapshotId: null,
      cpus: null,
      memoryMib: 64,
      ttlSeconds: 600,
      idleSeconds: null,
      autoResume: false,
      metadata: {},
      agentId: null,
      network: { egress: 'none' },
      ...spec,
    },
    createdBy: { apiKeyId: 'test', agentId: null, project: 'default' },
    hosts: [],
    requestedAt: new Date().toISOString(),
    begin: 'create',
    timeouts: { ...TEST_TIMEOUTS, ...timeouts },
  };
}
