/** Progress on one line; without a terminal a line per minute. */
export class ProgressLine {
  readonly #began = performance.now();
  readonly #counts = { green: 0, red: 0, none: 0 };
  #saidAt = 0;

  constructor(
    private readonly total: number,
    private readonly out: NodeJS.WriteStream = process.stdout,
  ) {}

  advance({ verdict, cell }: { verdict: 'green' | 'red' | 'none'; cell: string }): void {
    this.#counts[verdict]++;
    const { green, red, none } = this.#counts;
    const done = green + red + none;
    const seconds = (performance.now() - this.#began) / 1_000;
    const left = Math.round(((seconds / done) * (this.total - done)) / 60);
    const line = `${done}/${this.total}  ${green} green  ${red} red  ${none} without a victim  about ${left} min left  ${cell}`;
    if (this.out.isTTY) this.out.write(`\r\x1b[K${line.slice(0, (this.out.columns ?? 80) - 1)}`);
    else if (seconds - this.#saidAt >= 60) {
      this.#saidAt = seconds;
      this.out.write(`${line}\n`);
    }
  }

  /** Prints a permanent text above the line. */
  above(text: string): void {
    this.out.write(`${this.out.isTTY ? '\r\x1b[K' : ''}${text}\n`);
  }

  end(): void {
    if (this.out.isTTY) this.out.write('\n');
  }
}
