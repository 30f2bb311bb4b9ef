const ESCAPE = '\u001b';

/** Terminal emulator for tests: the subset of ECMA-48 and xterm that programs here use. */
export class TestScreen {
  #lines: string[][] = [];
  #column = 0;
  #row = 0;
  #left = '';
  /** Private modes that are set (`?25`: visible cursor, `?7`: wrapped lines, `?1049`: alternate screen). */
  readonly modes = new Set(['?7', '?25']);
  /** True when any text had a style. */
  hasStyles = false;
  /** Number of scrolls on the alternate screen: a frame must fit. */
  scrolls = 0;

  constructor(
    public columns: number,
    public rows: number,
  ) {}

  get lines(): string[] {
    return Array.from({ length: this.rows }, (_, n) => (this.#lines[n] ?? []).join('').trimEnd());
  }

  get text(): string {
    return this.lines.join('\n');
  }

  write(text: string): void {
    let rest = this.#left + text;
    this.#left = '';
    while (rest !== '') {
      if (rest[0] !== ESCAPE) {
        const run = rest.split(ESCAPE, 1)[0] ?? '';
        for (const { segment } of new Intl.Segmenter().segment(run)) this.#put(segment);
        rest = rest.slice(run.length);
        continue;
      }
      const sequence = /^.(?:\[([?>=]?)([\d;]*)([@-~])|[>=78c])/.exec(rest);
      if (!sequence && rest.length < 20) {
        this.#left = rest;
        return;
      }
      if (!sequence) throw new Error(`a terminal is not told ${JSON.stringify(rest.slice(0, 40))}`);
      this.#obey(sequence[1] ?? '', sequence[2] ?? '', sequence[3] ?? '', sequence[0]);
      rest = rest.slice(sequence[0].length);
    }
  }

  #put(char: string): void {
    if (char.startsWith('\r')) this.#column = 0;
    if (char.endsWith('\n')) this.#down();
    else if (char === '\r') return;
    else if (char === '\b') this.#column = Math.max(0, this.#column - 1);
    else if (/^\p{Cc}/u.test(char)) throw new Error(`a terminal is not told ${JSON.stringify(char)}`);
    else this.#show(char);
  }

  #show(char: string): void {
    if (this.#column >= this.columns && this.modes.has('?7')) {
      this.#column = 0;
      this.#down();
    }
    const line = this.#lines[this.#row] ?? [];
    this.#lines[this.#row] = line;
    const at = Math.min(this.#column, this.columns - 1);
    while (line.length < at) line.push(' ');
    line[at] = char;
    this.#column = at + 1;
  }

  #down(): void {
    if (this.#row < this.rows - 1) {
      this.#row++;
      return;
    }
    if (this.modes.has('?1049')) this.scrolls++;
    this.#lines.shift();
    this.#lines.length = Math.max(this.#lines.length, this.rows - 1);
    this.#lines = Array.from(this.#lines, (line) => line ?? []);
  }

  #obey(mark: string, parameters: string, final: string, all: string): void {
    const n = Number(parameters.split(';')[0] || 1);
    if (mark === '?' && (final === 'h' || final === 'l')) this.#setMode(`?${parameters}`, final === 'h');
    else if (final === 'A') this.#row = Math.max(0, this.#row - n);
    else if (final === 'B') this.#row = Math.min(this.rows - 1, this.#row + n);
    else if (final === 'G') this.#column = n - 1;
    else if (final === 'H') [this.#row, this.#column] = [0, 0];
    else if (final === 'J') this.#lines = [];
    else if (final === 'K') this.#lines[this.#row] = parameters === '2' ? [] : this.#line(this.#column);
    else if (final === 'm') this.hasStyles ||= parameters !== '0';
    else if (all !== '\u001b>') throw new Error(`a terminal is not told ${JSON.stringify(all)}`);
  }

  #line(length: number): string[] {
    return (this.#lines[this.#row] ?? []).slice(0, length);
  }

  #setMode(mode: string, isOn: boolean): void {
    if (mode === '?1049' && this.modes.has(mode) !== isOn) this.#lines = [];
    if (isOn) this.modes.add(mode);
    else this.modes.delete(mode);
  }
}
