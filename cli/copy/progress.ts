import { duration } from '../terminal/duration.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** How often the line on the terminal changes. Milliseconds. */
const EVERY_MS = 200;
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Counts what a copy has moved, and shows it on a terminal. */
export class Progress {
  bytes = 0;
  /** Bytes in all, when that is known. */
  total: number | null = null;
  readonly #io: Io;
  readonly #name: string;
  readonly #began = performance.now();
  #shownAt = 0;

  constructor(io: Io, name: string) {
    this.#io = io;
    this.#name = printable(name);
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1_000;
  }

  /** The same bytes, counted on their way. */
  async *counting(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of source) {
      this.bytes += chunk.length;
      this.#show();
      yield chunk;
    }
  }

  /** What was moved, in words. */
  summary(): string {
    return `${size(this.bytes)} in ${duration(this.seconds * 1_000)}`;
  }

  #show(): void {
    const now = performance.now();
    if (now - this.#shownAt < EVERY_MS) return;
    this.#shownAt = now;
    const share = this.total ? `, ${Math.floor((this.bytes / this.total) * 100)} %` : '';
    this.#io.noteForNow(`${this.#name}  ${size(this.bytes)}, ${size(this.bytes / this.seconds)}/s${share}`);
  }
}

/** Bytes as a person reads them: `812 bytes`, `3.4 MiB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
