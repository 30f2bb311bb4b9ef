import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until the moment of a fault: of a sweep over moments, the duration is the point. Milliseconds. */
export async function delayFault(ms: number): Promise<void> {
  await sleep(ms);
}

/** Lets time pass where that is what the test is about: of a clock, of an idle period, of a measurement. Milliseconds. */
export async function letTimePass(ms: number): Promise<void> {
  await sleep(ms);
}
