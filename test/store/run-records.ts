import type { BulkRecord } from '../../model/functions/bulk.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { SetupRecord } from '../../model/functions/setup/setup.ts';

const at = '2026-01-01T00:00:00.000Z';
const createdBy = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };

export function runId(n: number): string {
  return `run-${String(n).padStart(16, '0')}`;
}

export function functionRecord(changes: Partial<FunctionRecord> = {}): FunctionRecord {
  return {
    project: 'default',
    name: 'fn',
    state: 'active',
    activeVersion: 1,
    fullUntil: null,
    createdBy,
    createdAt: at,
    updatedAt: at,
    ...changes,
  };
}

export function functionVersion(changes: Partial<FunctionVersion['spec']> = {}): FunctionVersion {
  return {
    project: 'default',
    function: 'fn',
    version: 1,
    digest: 'd',
    createdBy,
    createdAt: at,
    spec: {
      source: 'golden-debian12',
      snapshotId: null,
      filesDigest: null,
      command: 'true',
      argv: null,
      user: null,
      env: {},
      secrets: [],
      input: { schema: null, maxBytes: 1_000 },
      timeoutSeconds: 600,
      graceSeconds: 10,
      maxEventAgeSeconds: 21_600,
      retry: {
        maxAttempts: 1,
        on: ['failed', 'timed-out', 'unknown'],
        exitCodes: null,
        backoff: { initialSeconds: 1, factor: 2, maxSeconds: 300, jitter: true },
      },
      idempotent: false,
      concurrency: [{ limit: 100, key: null, onFull: 'queue' }],
      throttle: null,
      debounce: null,
      batch: null,
      lateBinding: false,
      priority: 0,
      network: { egress: 'none' },
      cpus: null,
      memoryMib: null,
      result: { maxBytes: 1_000 },
      artifacts: { globs: ['**'], maxBytes: 1_000 },
      logBytes: 1_000,
      destinations: { onSuccess: null, onFailure: null },
      retentionDays: 30,
      ...changes,
    },
  };
}

export function setupRecord(changes: Partial<SetupRecord> = {}): SetupRecord {
  return {
    project: 'default',
    key: 'a'.repeat(64),
    seed: 's',
    state: 'preparing',
    revision: 1,
    wish: {
      source: 'golden-debian12',
      script: 'true',
      timeoutSeconds: 600,
      filesDigest: null,
      user: null,
      env: {},
      network: { egress: 'none' },
      cpus: null,
      memoryMib: null,
    },
    tries: 0,
    failures: 0,
    snapshotId: null,
    snapshotKind: null,
    failure: null,
    log: null,
    waitingFor: null,
    createdBy,
    createdAt: at,
    updatedAt: at,
    ...changes,
  };
}

export function runRecord(n: number, changes: Partial<RunRecord> = {}): RunRecord {
  return {
    id: runId(n),
    project: 'default',
    function: 'fn',
    version: 1,
    versionDigest: 'd',
    state: 'queued',
    cleanup: 'none',
    waitingFor: null,
    outcome: null,
    skippedFor: null,
    supersededBy: null,
    exitCode: null,
    signal: null,
    failure: null,
    event: { id: String(n), source: '/test', type: 'test', time: null },
    eventBytes: 2,
    eventDigest: 'e',
    keys: [null],
    throttleKey: null,
    lane: changes.keys?.find((key) => key !== null) ?? null,
    lateBinding: false,
    gathering: null,
    gatheringKey: null,
    events: [],
    isBatch: false,
    batch: null,
    priority: 0,
    dedupe: String(n),
    epoch: 0,
    dedupeUntil: '2999-01-01T00:00:00.000Z',
    acceptedAt: at,
    seq: n,
    dueAt: null,
    expiresAt: '2999-01-01T00:00:00.000Z',
    admittedAt: null,
    startedAt: null,
    endedAt: null,
    updatedAt: at,
    retentionDays: 30,
    attempts: [],
    tries: 0,
    failedStarts: 0,
    result: null,
    artifacts: [],
    cancelledBy: null,
    replayOf: null,
    redriveOf: null,
    redrivenAs: null,
    createdBy,
    ...changes,
  };
}

export function bulkRecord(n: number, changes: Partial<BulkRecord> = {}): BulkRecord {
  return {
    id: `blk-${String(n).padStart(16, '0')}`,
    project: 'default',
    function: 'fn',
    action: 'redrive',
    version: 'current',
    filter: {},
    state: 'running',
    counts: { done: 0, unchanged: 0, refused: 0 },
    refusals: [],
    pages: 0,
    place: { list: 0, cursor: null },
    digest: 'd',
    createdBy,
    createdAt: at,
    updatedAt: at,
    endedAt: null,
    ...changes,
  };
}
