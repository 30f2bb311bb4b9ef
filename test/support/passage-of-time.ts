import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for the moment of a fault, in a sweep over moments, ms. */
export async function delayFault(ms: number): Promise<void> {
  await sleep(ms);
}

/** Lets time pass that the test is about: a clock, an idle period, a measurement. Milliseconds. */
export async function letTimePass(ms: number): Promise<void> {
  await sleep(ms);
}
