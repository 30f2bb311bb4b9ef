import type { MayflyClient } from '../../client/mayfly-client.ts';
import { filled } from '../measure/filled-pool.ts';
import { round, Samples } from '../measure/measure.ts';
import { byHand } from './by-hand.ts';

const POOL = 'runs';
const MEMBERS = 2;
const MAX_WAIT_SECONDS = 240;
/** Says when it runs, so that nobody looks meanwhile, on the cores that are measured. Milliseconds since 1970. */
const COMMAND = 'date +%s%3N';

interface WarmBench {
  client: MayflyClient;
  source: string;
  runs: number;
}

/**
 * A run that has a member of a pool, from its acceptance until its process has printed something, beside the same command in a
 * sandbox that is there; and all of it, to its proof, beside a claim, that command and a destroy by hand. In turn.
 */
export async function measureWarm({ client, source, runs }: WarmBench) {
  const samples = new Samples();
  await client.pools.set(POOL, { source, min: MEMBERS, max: MEMBERS });
  await client.functions.deploy('warm', { source, command: COMMAND });
  for (let run = -1; run < runs; run++) {
    const counted = run < 0 ? new Samples() : samples;
    await filled(client, POOL, MEMBERS);
    await counted.time('run, to its proof', () => ran(client, counted));
    await filled(client, POOL, MEMBERS);
    await counted.time('by hand, to its proof', () =>
      byHand({ client, source, command: COMMAND, first: 'claim' }, counted),
    );
  }
  await client.pools.delete(POOL, { waitSeconds: MAX_WAIT_SECONDS });
  const spreads = samples.spreads();
  const ratio = (ours: string, beside: string) =>
    round((spreads[ours]?.medianMs ?? Number.NaN) / (spreads[beside]?.medianMs ?? Number.NaN));
  return {
    ...spreads,
    firstByte: ratio('run, accepted to its first byte', 'by hand, command'),
    whole: ratio('run, to its proof', 'by hand, to its proof'),
  };
}

async function ran(client: MayflyClient, samples: Samples): Promise<void> {
  const { id } = await client.runs.create('warm');
  const accepted = Date.now();
  const { outcome, cleanup, attempts } = await client.runs.ended(id);
  const { bytes } = await client.runs.output(id, { stream: 'stdout' });
  samples.add('run, accepted to its first byte', Number(await new Response(bytes).text()) - accepted);
  const { boot } = await client.getSandbox(attempts[0]?.sandboxId ?? '');
  if (outcome !== 'succeeded' || cleanup !== 'proved' || boot?.way !== 'warm') {
    throw new Error(`${id} is ${outcome}, its boot ${boot?.way}`);
  }
}
