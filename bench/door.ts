import { randomBytes } from 'node:crypto';
import type { MayflyClient } from '../client/mayfly-client.ts';
import { ID_BYTES, sandboxIdFrom } from '../model/ids.ts';
import { LIMITS } from '../model/limits.ts';
import type { SandboxRecord } from '../model/sandbox.ts';
import type { Store } from '../store/connect.ts';
import { Samples, type Spread } from './measure.ts';

/** What the API itself costs, with `stored` ended sandboxes in the store besides. */
export async function measureDoor(
  client: MayflyClient,
  store: Store,
  source: string,
  { runs, stored }: { runs: number; stored: number },
): Promise<Record<string, Spread>> {
  for (let i = 0; i < stored; i++) await store.sandboxes.create(endedRecord(source));
  const samples = new Samples();
  for (let run = 0; run < runs; run++) {
    const accepted = await samples.time('POST, accepted', () =>
      client.createSandbox({ source, memoryMib: 64 }, { waitSeconds: 0 }),
    );
    await samples.time('GET, while it is created', () => client.getSandbox(accepted.id));
    await client.destroySandbox(accepted.id, { waitSeconds: 240 });
    await samples.time('GET, at rest', () => client.getSandbox(accepted.id));
    await samples.time('list, 50 a page', () => client.listSandboxes());
  }
  return samples.spreads();
}

function endedRecord(source: string): SandboxRecord {
  const id = sandboxIdFrom(randomBytes(ID_BYTES));
  const at = new Date().toISOString();
  const ttlSeconds = LIMITS.ttlSeconds.default;
  const network = { egress: 'none' } as const;
  return {
    id,
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
    createdBy: { apiKeyId: 'bench', agentId: null },
    hostId: null,
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
