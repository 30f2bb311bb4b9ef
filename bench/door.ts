import { randomBytes, randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { MayflyClient } from '../client/mayfly-client.ts';
import { ID_BYTES, sandboxIdFrom } from '../model/ids.ts';
import { LIMITS } from '../model/limits.ts';
import { ACCEPTED } from '../model/sagas/messages.ts';
import { workflowIdOf } from '../model/sagas/queues.ts';
import type { SandboxRecord } from '../model/sandbox/sandbox.ts';
import type { Store } from '../store/connect.ts';
import { temporalClient } from '../worker/payloads/data-converter.ts';
import { Samples, type Spread } from './measure/measure.ts';

/** Records that are stored at once before anything is measured. */
const AT_ONCE = 100;
const MAX_WAIT_SECONDS = 240;

export interface DoorBench {
  client: MayflyClient;
  store: Store;
  temporal: { address: string; namespace: string; dataConverter: DataConverter };
  source: string;
  runs: number;
  /** As many of each before, which are not counted: a server runs for days, and its first requests are interpreted. */
  warmUp: number;
  /** Ended sandboxes in the store besides. */
  stored: number;
}

/** What the API itself costs, and beside it what it stands on: a read of the store, an update of Temporal's that writes nothing. */
export async function measureDoor(bench: DoorBench): Promise<Record<string, Spread>> {
  const { client, store, source, runs, warmUp, stored } = bench;
  for (let left = stored; left > 0; left -= AT_ONCE) {
    const records = Array.from({ length: Math.min(left, AT_ONCE) }, () => endedRecord(source));
    await Promise.all(records.map((record) => store.sandboxes.create(record)));
  }
  const counted = new Samples();
  for (let run = -warmUp; run < runs; run++) {
    const samples = run < 0 ? new Samples() : counted;
    const accepted = await samples.time('POST, accepted', () =>
      client.createSandbox({ source, memoryMib: 64 }, { waitSeconds: 0 }),
    );
    await samples.time('GET, while it is created', () => client.getSandbox(accepted.id));
    await client.destroySandbox(accepted.id, { waitSeconds: MAX_WAIT_SECONDS });
    await samples.time('GET, at rest', () => client.getSandbox(accepted.id));
    await samples.time('list, 50 a page', () => client.listSandboxes());
    await samples.time('list, its query alone', () => store.sandboxes.list({ limit: LIMITS.page.default }));
  }
  await measureLiving(bench, counted);
  return counted.spreads();
}

/** Of a sandbox that runs and rests. */
async function measureLiving(bench: DoorBench, counted: Samples): Promise<void> {
  const { client, store, temporal, source, runs, warmUp } = bench;
  const { id } = await client.createSandbox({ source }, { waitSeconds: MAX_WAIT_SECONDS }); // 64 MiB boot no real machine
  const connection = await Connection.connect({ address: temporal.address });
  try {
    const { workflow } = temporalClient({ connection, ...temporal });
    const running = workflow.getHandle(workflowIdOf(id));
    for (let run = -warmUp; run < runs; run++) {
      const samples = run < 0 ? new Samples() : counted;
      await samples.time('GET, of one that runs', () => client.getSandbox(id));
      await samples.time('GET, its read alone', () => store.sandboxes.get(id));
    }
    for (let run = -warmUp; run < runs; run++) {
      const samples = run < 0 ? new Samples() : counted;
      await samples.time('PATCH', () =>
        client.extendSandbox(id, { ttlSeconds: LIMITS.ttlSeconds.default + warmUp + run }),
      );
      await samples.time('PATCH, an update that writes nothing', () =>
        running.executeUpdate(ACCEPTED, { args: [], updateId: randomUUID() }),
      );
    }
  } finally {
    await connection.close();
    await client.destroySandbox(id, { waitSeconds: MAX_WAIT_SECONDS });
  }
}

function endedRecord(source: string): SandboxRecord {
  const id = sandboxIdFrom(randomBytes(ID_BYTES));
  const at = new Date().toISOString();
  const ttlSeconds = LIMITS.ttlSeconds.default;
  const network = { egress: 'none' } as const;
  return {
    id,
    project: 'default',
    name: null,
    state: 'destroyed',
    phase: null,
    spec: {
      source,
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      ttlSeconds,
      idleSeconds: null,
      autoResume: false,
      metadata: {},
      agentId: null,
      network,
    },
    createdBy: { apiKeyId: 'bench', agentId: null, project: 'default' },
    hostId: null,
    installationId: null,
    askedHosts: [],
    parentSnapshotId: null,
    ssh: null,
    macAddress: null,
    createdAt: at,
    updatedAt: at,
    runningAt: null,
    expiresAt: at,
    stopReason: 'deleted',
    failure: null,
    stalledBy: null,
    waitingFor: null,
    proof: null,
    steps: [],
  };
}
