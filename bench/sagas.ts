import type { MayflyClient } from '../client/mayfly-client.ts';
import type { SandboxRecord } from '../model/sandbox.ts';
import { round, Samples, type Spread } from './measure.ts';

/** Waiting for one sandbox, at the most. Seconds. */
const PATIENCE_SECONDS = 240;

/** Whole lives through the API, one after the other: what a caller waits for, and each step as the saga records it. */
export async function measureSagas(
  client: MayflyClient,
  source: string,
  runs: number,
): Promise<Record<string, Spread>> {
  const samples = new Samples();
  for (let run = 0; run < runs; run++) {
    const record = await samples.time('create', () =>
      client.createSandbox({ source }, { waitSeconds: PATIENCE_SECONDS }),
    );
    assertState(record, 'running');
    for (const { step, startedAt, endedAt } of record.steps)
      samples.add(step, Date.parse(endedAt) - Date.parse(startedAt));
    const gone = await samples.time('destroy', () =>
      client.destroySandbox(record.id, { waitSeconds: PATIENCE_SECONDS }),
    );
    assertState(gone, 'destroyed');
  }
  return samples.spreads();
}

/** Many at once: how long until the last of them is running, and until the last of them is proved to be gone. */
export async function measureBurst(client: MayflyClient, source: string, count: number) {
  const ids = Array.from({ length: count });
  const began = performance.now();
  const created = await Promise.all(
    ids.map(() => client.createSandbox({ source, memoryMib: 64 }, { waitSeconds: PATIENCE_SECONDS })),
  );
  const createSeconds = (performance.now() - began) / 1_000;
  for (const record of created) assertState(record, 'running');
  const ending = performance.now();
  const gone = await Promise.all(created.map(({ id }) => client.destroySandbox(id, { waitSeconds: PATIENCE_SECONDS })));
  const destroySeconds = (performance.now() - ending) / 1_000;
  for (const record of gone) assertState(record, 'destroyed');
  return {
    atOnce: count,
    createsPerSecond: round(count / createSeconds),
    destroysPerSecond: round(count / destroySeconds),
  };
}

function assertState({ id, state, failure }: SandboxRecord, wanted: SandboxRecord['state']): void {
  if (state === wanted) return;
  throw new Error(`${id} is ${state}, not ${wanted}${failure ? `: ${failure.step}: ${failure.message}` : ''}`);
}
