import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import { between, duration } from '../terminal/arguments.ts';
import { type Io, printable } from '../terminal/io.ts';

/** Prints the steps of a record that were not printed before. */
export class StepPrinter {
  #printed: number;

  /** @param printed how many steps were there before */
  constructor(
    readonly io: Io,
    printed = 0,
  ) {
    this.#printed = printed;
  }

  show(record: Sandbox): void {
    for (const { step, startedAt, endedAt } of record.steps.slice(this.#printed)) {
      this.io.note(`  ${printable(step).padEnd(22)}${duration(between(startedAt, endedAt)).padStart(9)}`);
    }
    this.#printed = Math.max(this.#printed, record.steps.length);
    const doing = record.waitingFor ? `waits for ${record.waitingFor}` : (record.phase ?? record.state);
    this.io.noteForNow(this.io.paint('dim', `  ${doing} …`));
  }
}

/**
 * Follows a sandbox's event stream until `reached`, and prints each step when it has ended.
 * @returns the last record read: not necessarily one that was `reached`, when the stream ended first
 * @throws the signal's reason when it was aborted first
 */
export async function follow(
  client: MayflyClient,
  first: Sandbox,
  reached: (record: Sandbox) => boolean,
  printer: StepPrinter,
  signal: AbortSignal,
): Promise<Sandbox> {
  printer.show(first);
  if (reached(first)) return first;
  // The signal ends the wait, however long the API stays away meanwhile.
  const options = { signal, deadlineSeconds: LIMITS.waitSeconds.max };
  for await (const record of client.watchSandbox(first.id, options)) {
    printer.show(record);
    if (reached(record)) return record;
  }
  const last = await client.getSandbox(first.id, { signal });
  printer.show(last);
  return last;
}

/**
 * A signal for one wait: `io.signal`, or the time is over.
 * @param seconds how long
 */
export function waitSignal(io: Io, seconds: number): { signal: AbortSignal } {
  const waiting = new AbortController();
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may collect both as garbage, and then they never fire.
  setTimeout(() => waiting.abort(new Error(`${seconds} s are over`)), seconds * 1_000).unref();
  const interrupt = () => waiting.abort(io.signal.reason);
  io.signal.addEventListener('abort', interrupt, { once: true });
  if (io.signal.aborted) interrupt();
  return waiting;
}
