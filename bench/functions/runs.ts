import type { MayflyClient } from '../../client/mayfly-client.ts';
import { round, Samples } from '../measure/measure.ts';
import { byHand } from './by-hand.ts';

interface RunBench {
  client: MayflyClient;
  source: string;
  runs: number;
}

/** A whole run, from its event to its proof, beside a sandbox that is made, has the same command and is destroyed by hand, in turn. */
export async function measureRuns({ client, source, runs }: RunBench) {
  const samples = new Samples();
  const command = 'echo began';
  await client.functions.deploy('whole', { source, command });
  for (let run = -1; run < runs; run++) {
    const counted = run < 0 ? new Samples() : samples;
    await counted.time('run, to its proof', () => ran(client, counted));
    await counted.time('by hand, to its proof', () => byHand({ client, source, command, first: 'create' }, counted));
  }
  const { 'run, to its proof': whole, 'by hand, to its proof': hand, ...rest } = samples.spreads();
  return { whole, hand, ...rest, ratio: round((whole?.medianMs ?? Number.NaN) / (hand?.medianMs ?? Number.NaN)) };
}

async function ran(client: MayflyClient, samples: Samples): Promise<void> {
  const began = performance.now();
  const { id } = await client.runs.create('whole');
  samples.add('run, accepted', performance.now() - began);
  const over = await client.runs.ended(id);
  samples.add('run, accepted to its process', Date.parse(over.startedAt ?? '') - Date.parse(over.acceptedAt));
  if (over.outcome !== 'succeeded' || over.cleanup !== 'proved') throw new Error(`${id} is ${over.outcome}`);
}
