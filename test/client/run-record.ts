import type { DeployedFunction, FunctionVersion } from '../../client/functions.ts';
import type { Run } from '../../client/run-shapes.ts';

const AT = '2026-11-24T12:00:00.000Z';
const createdBy = { apiKeyId: 'key', agentId: null };
export const RUN_ID = 'run-0123456789abcdef';

export const deployedFunction: DeployedFunction = {
  project: 'default',
  name: 'fn',
  state: 'active',
  activeVersion: 3,
  createdBy,
  createdAt: AT,
  updatedAt: AT,
};

export const functionVersion: FunctionVersion = {
  function: 'fn',
  version: 3,
  digest: '0'.repeat(64),
  isActive: true,
  spec: {
    source: 'web-1',
    snapshotId: null,
    filesDigest: null,
    command: null,
    argv: ['./main.sh'],
    user: null,
    envNames: ['A', 'B'],
    secrets: [],
    input: { schema: null, maxBytes: 3_145_728 },
    timeoutSeconds: 600,
    graceSeconds: 10,
    maxEventAgeSeconds: 21_600,
    retry: {
      maxAttempts: 1,
      on: ['failed'],
      exitCodes: null,
      backoff: { initialSeconds: 1, factor: 2, maxSeconds: 300, jitter: true },
    },
    idempotent: false,
    concurrency: [{ limit: 2, key: '/customer', onFull: 'skip' }],
    throttle: null,
    debounce: null,
    batch: null,
    lateBinding: false,
    priority: 0,
    network: { egress: 'none' },
    cpus: null,
    memoryMib: null,
    result: { maxBytes: 10_485_760 },
    artifacts: { globs: ['**'], maxBytes: 1_073_741_824 },
    logBytes: 10_485_760,
    destinations: { onSuccess: null, onFailure: null },
    retentionDays: 30,
    keep: { onFailure: 'none', days: 7 },
    diff: false,
    wait: { time: 'counts', hibernateAfterSeconds: 30, releaseSlot: false },
  },
  createdBy,
  createdAt: AT,
};

/** A run as it is accepted. */
export function runRecord(of: Partial<Run> = {}): Run {
  return {
    id: RUN_ID,
    project: 'default',
    function: 'fn',
    version: 3,
    state: 'queued',
    cleanup: 'none',
    waitingFor: null,
    outcome: null,
    skippedFor: null,
    supersededBy: null,
    exitCode: null,
    signal: null,
    failure: null,
    event: { id: 'e', source: '/s', type: 't', time: null },
    eventBytes: 2,
    events: [],
    isBatch: false,
    batch: null,
    priority: 0,
    acceptedAt: AT,
    dueAt: null,
    expiresAt: AT,
    admittedAt: null,
    startedAt: null,
    endedAt: null,
    updatedAt: AT,
    attempts: [],
    result: null,
    artifacts: [],
    kept: null,
    diff: null,
    waiting: null,
    cancelledBy: null,
    replayOf: null,
    redriveOf: null,
    redrivenAs: null,
    createdBy: { ...createdBy, project: 'default' },
    ...of,
  };
}

/** One attempt of it, as it is while its process runs. */
export function attemptRecord(of: Partial<Run['attempts'][number]> = {}): Run['attempts'][number] {
  return {
    n: 1,
    sandboxId: 'sbx-0123456789abcdef',
    commandId: 'cmd-0123456789abcdef',
    begunAt: AT,
    startedAt: AT,
    endedAt: null,
    outcome: null,
    exitCode: null,
    signal: null,
    failure: null,
    cleanup: 'pending',
    secrets: [],
    ...of,
  };
}
