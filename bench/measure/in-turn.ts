import { Samples } from './measure.ts';

/** Of each, before those that are counted. */
export const WARM_UP = 5;

/** Times `ours` and `beside` in turn, so that what else the machine does falls on both. */
export async function inTurn(
  { runs }: { runs: number },
  samples: Samples,
  ours: () => Promise<unknown>,
  beside: () => Promise<unknown>,
): Promise<void> {
  for (let run = -WARM_UP; run < runs; run++) {
    const counted = run < 0 ? new Samples() : samples;
    await counted.time('ours', ours);
    await counted.time('beside', beside);
  }
}
