import { isMayflyError, MayflyError } from '../errors.ts';

/** Bounds of an error's list: a Dockerfile of any size can be wrong in every line. */
const MOST_PROBLEMS = 50;
const MOST_CHARS = 1_000;

/** Returns an error about an unsupported or invalid instruction at a line. */
export function unsupportedAt(line: number, said: string): MayflyError {
  const problem = said.length > MOST_CHARS ? `${said.slice(0, MOST_CHARS)}…` : said;
  return new MayflyError('dockerfile_unsupported', `Line ${line}: ${problem}.`, {
    fields: [{ field: `line ${line}`, problem }],
  });
}

/** Collects the errors of a Dockerfile, so that one answer reports all. */
export class Refusals {
  readonly #found: MayflyError[] = [];

  /**
   * Collects a refusal, and rethrows any other error.
   * @returns null when it was refused
   * @throws MayflyError dockerfile_unsupported when the list is full
   */
  attempt<T>(read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      if (!isMayflyError(error, 'dockerfile_unsupported')) throw error;
      this.#found.push(error);
    }
    if (this.#found.length === MOST_PROBLEMS) this.throwAll();
    return null;
  }

  /** @throws MayflyError dockerfile_unsupported with all collected refusals, sorted by line */
  throwAll(): void {
    if (this.#found.length === 0) return;
    const found = this.#found.toSorted((one, other) => lineOf(one) - lineOf(other));
    const fields = found.flatMap(({ options }) => options.fields ?? []);
    throw new MayflyError('dockerfile_unsupported', found.map(({ message }) => message).join('\n'), { fields });
  }
}

function lineOf({ options }: MayflyError): number {
  return Number(options.fields?.[0]?.field.slice('line '.length));
}
