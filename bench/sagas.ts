import type { Sandbox } from '../client/http/openapi.ts';
import type { MayflyClient } from '../client/mayfly-client.ts';
import { BURST_MEMORY_MIB, type BurstFigures, burstOf } from './burst.ts';
import { Samples, type Spread } from './measure/measure.ts';
import { type Processor, ProcessorMeter } from './measure/processor.ts';

/** Waiting for one sandbox, at the most. Seconds. */
const MAX_WAIT_SECONDS = 240;

export interface SagaFigures {
  spreads: Record<string, Spread>;
  /** Processor seconds a create. */
  processor: Processor;
}

/**
 * Whole lives through the API, one after the other: what a caller waits for, and each step as the saga records it.
 * @param lives.warmUp as many before, which are not counted
 */
export async function measureSagas(
  client: MayflyClient,
  source: string,
  lives: { runs: number; warmUp: number },
): Promise<SagaFigures> {
  if (lives.warmUp > 0) await measureLives(client, source, lives.warmUp);
  return measureLives(client, source, lives.runs);
}

async function measureLives(client: MayflyClient, source: string, runs: number): Promise<SagaFigures> {
  const samples = new Samples();
  const meter = new ProcessorMeter();
  for (let run = 0; run < runs; run++) {
    const record = await samples.time('create', () =>
      meter.measure(1, () => client.createSandbox({ source }, { waitSeconds: MAX_WAIT_SECONDS })),
    );
    assertState(record, 'running');
    for (const { step, startedAt, endedAt } of record.steps)
      samples.add(step, Date.parse(endedAt) - Date.parse(startedAt));
    const gone = await samples.time('destroy', () =>
      client.destroySandbox(record.id, { waitSeconds: MAX_WAIT_SECONDS }),
    );
    assertState(gone, 'destroyed');
  }
  return { spreads: samples.spreads(), processor: meter.each() };
}

/** Many at once through the API. */
export async function measureBurst(client: MayflyClient, source: string, count: number): Promise<BurstFigures> {
  const options = { waitSeconds: MAX_WAIT_SECONDS };
  let created: Sandbox[] = [];
  let gone: Sandbox[] = [];
  const request = { source, memoryMib: BURST_MEMORY_MIB };
  const figures = await burstOf(
    count,
    async () => {
      created = await Promise.all(Array.from({ length: count }, () => client.createSandbox(request, options)));
    },
    async () => {
      gone = await Promise.all(created.map(({ id }) => client.destroySandbox(id, options)));
    },
  );
  for (const record of created) assertState(record, 'running');
  for (const record of gone) assertState(record, 'destroyed');
  return figures;
}

function assertState({ id, state, failure }: Sandbox, wanted: Sandbox['state']): void {
  if (state === wanted) return;
  throw new Error(`${id} is ${state}, not ${wanted}${failure ? `: ${failure.step}: ${failure.message}` : ''}`);
}
