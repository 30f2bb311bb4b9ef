/** One thing Mayfly needs, as it was found. `optional`: without it something is slower or left out, nothing broken. */
export interface Check {
  name: string;
  ok: boolean;
  optional: boolean;
  /** What was found; `could not look: …` when nobody knows. */
  found: string;
  /** A command to type or a file to change, when it is not ok; empty when it is. */
  remedy: string;
}

/** Looks at one thing, or at several of one kind. Nothing is changed. */
export interface Probe {
  name: string;
  /** What to do when it cannot look. */
  remedy: string;
  /** @throws NothingThere; anything else is told as the reason for not having been able to look */
  look: () => Promise<Check[]>;
}

/** How long one probe may take. Milliseconds. */
const LOOK_MS = 8_000;

/** What is asked for is not meant to be there now, as the servers of a `mayfly up` that does not run: no fault. */
export class NothingThere extends Error {}

export function fine(name: string, found: string): Check {
  return { name, ok: true, optional: false, found, remedy: '' };
}

export function fault(name: string, found: string, remedy: string): Check {
  return { name, ok: false, optional: false, found, remedy };
}

/** What is worth knowing, and breaks nothing. */
export function note(name: string, found: string, remedy: string): Check {
  return { name, ok: false, optional: true, found, remedy };
}

/** Runs all of them side by side. One that fails or takes too long has not seen anything, which is not fine. */
export async function runProbes(probes: readonly Probe[], withinMs = LOOK_MS): Promise<Check[]> {
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
    return [error instanceof NothingThere ? note(name, found, remedy) : fault(name, found, remedy)];
  } finally {
    clearTimeout(timer);
  }
}
