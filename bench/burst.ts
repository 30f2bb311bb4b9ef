import { round } from './measure/measure.ts';

/** Many at once: how many a second, until the last of them is running, and until the last is gone. */
export interface BurstFigures {
  atOnce: number;
  createsPerSecond: number;
  destroysPerSecond: number;
}

/** So that many fit on a small machine. */
export const BURST_MEMORY_MIB = 64;

export async function burstOf(
  atOnce: number,
  create: () => Promise<unknown>,
  destroy: () => Promise<unknown>,
): Promise<BurstFigures> {
  const began = performance.now();
  await create();
  const ending = performance.now();
  await destroy();
  const gone = performance.now();
  const perSecond = (ms: number) => round((1_000 * atOnce) / ms);
  return { atOnce, createsPerSecond: perSecond(ending - began), destroysPerSecond: perSecond(gone - ending) };
}
