/** Result for one thing Mayfly needs. `optional`: without it something is slower or missing, nothing broken. */
export interface Check {
  name: string;
  ok: boolean;
  optional: boolean;
  /** Finding; `could not look: …` when the probe failed. */
  found: string;
  /** Command to type or file to change when it is not ok; empty when it is. */
  remedy: string;
}

/** Inspects one thing, or several of one kind. Changes nothing. */
export interface Probe {
  name: string;
  /** Remedy when the probe fails. */
  remedy: string;
  /** @throws NothingThere; any other error is reported as the reason why the probe failed */
  look: () => Promise<Check[]>;
}

/** Timeout of one probe, ms. */
const PROBE_TIMEOUT_MS = 8_000;

/** Subject of a probe that is not expected to exist now, such as the servers of a stopped `mayfly up`: no fault. */
export class NotApplicable extends Error {}

export function passed(name: string, found: string): Check {
  return { name, ok: true, optional: false, found, remedy: '' };
}

export function fault(name: string, found: string, remedy: string): Check {
  return { name, ok: false, optional: false, found, remedy };
}

/** Makes a check that is worth knowing, and breaks nothing. */
export function note(name: string, found: string, remedy: string): Check {
  return { name, ok: false, optional: true, found, remedy };
}

/** Runs all probes concurrently. A probe that fails or times out is a fault. */
export async function runProbes(probes: readonly Probe[], withinMs = PROBE_TIMEOUT_MS): Promise<Check[]> {
  return (await Promise.all(probes.map((probe) => runProbe(probe, withinMs)))).flat();
}

async function runProbe({ name, remedy, look }: Probe, withinMs: number): Promise<Check[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${withinMs / 1_000} s`)), withinMs);
  });
  try {
    return await Promise.race([look(), late]);
  } catch (error) {
    const found = `could not look: ${error instanceof Error ? error.message : String(error)}`;
    return [error instanceof NotApplicable ? note(name, found, remedy) : fault(name, found, remedy)];
  } finally {
    clearTimeout(timer);
  }
}
