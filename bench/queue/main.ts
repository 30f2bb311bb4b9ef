/**
 * `npm run bench:queue -- [--queued N] [--runs N]`: what it costs to admit the next run of a queue of 10, and of one of 100,000, in one
 * store of its own, in turn. Prints the figures as JSON, with their ratio.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type RunRecord, runIdOf } from '../../model/functions/run.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import type { QueueRules } from '../../store/functions/queue/run-queue.ts';
import type { StoreKeys } from '../../store/sealed/seal.ts';
import { startStoreServer } from '../../worker/servers/store-server.ts';
import { round, Samples } from '../measure/measure.ts';

const FEW = 10;
const AT_ONCE = 1_000;
const WARM_UP = 20;
const RULES: QueueRules = { concurrency: [{ limit: 100, key: '/k', onFull: 'queue' }], throttle: null };
const createdBy = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };
let accepted = 0;

function queuedRun(name: string): RunRecord {
  const n = ++accepted;
  const at = new Date(Date.UTC(2026, 0, 1) + n).toISOString();
  const key = JSON.stringify(`customer-${n % 1_000}`);
  const dedupe = `${name}/${n}`;
  const nothing = { outcome: null, skippedFor: null, supersededBy: null, exitCode: null, signal: null, failure: null };
  const times = { admittedAt: null, startedAt: null, endedAt: null, dueAt: null, acceptedAt: at, updatedAt: at };
  const counts = {
    epoch: 0,
    seq: n % 1_000_000,
    priority: 0,
    tries: 0,
    failedStarts: 0,
    retentionDays: 30,
    eventBytes: 100,
  };
  return {
    ...nothing,
    ...times,
    ...counts,
    id: runIdOf(dedupe, 0),
    project: 'default',
    function: name,
    version: 1,
    versionDigest: 'd',
    state: 'queued',
    cleanup: 'none',
    waitingFor: null,
    event: { id: String(n), source: '/bench', type: 'bench', time: null },
    eventDigest: 'e',
    keys: [key],
    throttleKey: null,
    lane: key,
    lateBinding: false,
    gathering: null,
    gatheringKey: null,
    events: [],
    isBatch: false,
    batch: null,
    replayOf: null,
    redriveOf: null,
    redrivenAs: null,
    dedupe,
    dedupeUntil: '2999-01-01T00:00:00.000Z',
    expiresAt: '2999-01-01T00:00:00.000Z',
    attempts: [],
    result: null,
    artifacts: [],
    cancelledBy: null,
    createdBy,
  };
}

async function fill(store: Store, name: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE) {
    const runs = Array.from({ length: Math.min(left, AT_ONCE) }, () => queuedRun(name));
    await Promise.all(runs.map((run) => store.runs.accept(run, Buffer.alloc(100, 'x'))));
  }
}

/** One admission; then it ends, and another comes in its place. */
async function admitted(store: Store, name: string, after: string, samples: Samples): Promise<string> {
  const at = new Date().toISOString();
  const next = await samples.time(name, async () => {
    const found =
      (await store.runQueue.next({ project: 'default', name }, after)) ??
      (await store.runQueue.next({ project: 'default', name }, ''));
    if (!found || (await store.runQueue.admit(found.run, RULES, at))) throw new Error(`none of ${name} is admitted`);
    return found;
  });
  await store.runs.end(next.run.id, ['preparing'], { outcome: 'succeeded', endedAt: at }, 30);
  await store.runs.free(next.run.id, { cleanup: 'proved' });
  await fill(store, name, 1);
  return next.key;
}

async function measured(store: Store, names: readonly string[], runs: number): Promise<Samples> {
  const samples = new Samples();
  const after = new Map<string, string>();
  for (let run = -WARM_UP; run < runs; run++) {
    for (const name of names) {
      after.set(name, await admitted(store, name, after.get(name) ?? '', run < 0 ? new Samples() : samples));
    }
  }
  return samples;
}

const { values } = parseArgs({ options: { queued: { type: 'string' }, runs: { type: 'string' } } });
const [queued, runs] = [Number(values.queued ?? 100_000), Number(values.runs ?? 300)];
const folder = await mkdtemp(join(tmpdir(), 'mayfly-bench-'));
const server = await startStoreServer(folder);
try {
  const keys: StoreKeys = [{ id: '00112233aabbccdd', key: new Uint8Array(32).fill(5) }];
  const store = await connectStore(server.address, { keys, isProcess: true });
  await fill(store, 'few', FEW);
  const alone = (await measured(store, ['few'], runs)).spreads();
  await fill(store, 'many', queued);
  const beside = (await measured(store, ['few', 'many'], runs)).spreads();
  await store.close();
  const ratio = (of: number | undefined, to: number | undefined) => round((of ?? Number.NaN) / (to ?? Number.NaN));
  const report = {
    queued,
    few: beside['few'],
    many: beside['many'],
    fewAlone: alone['few'],
    ratio: ratio(beside['many']?.medianMs, beside['few']?.medianMs),
    ratioToAlone: ratio(beside['many']?.medianMs, alone['few']?.medianMs),
  };
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
