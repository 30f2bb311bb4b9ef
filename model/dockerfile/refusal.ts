import { isMayflyError, MayflyError } from '../errors.ts';

/** Refusals of one Dockerfile that are listed, and characters of each: what it says wrongly can be all of it. */
const MOST_PROBLEMS = 50;
const MOST_CHARS = 1_000;

/** What a Dockerfile asks for and a build does not do, or what it says wrongly; by its line. */
export function refusedAt(line: number, said: string): MayflyError {
  const problem = said.length > MOST_CHARS ? `${said.slice(0, MOST_CHARS)}…` : said;
  return new MayflyError('dockerfile_unsupported', `Line ${line}: ${problem}.`, {
    fields: [{ field: `line ${line}`, problem }],
  });
}

/** Collects what is wrong with a Dockerfile, so that all of it is answered at once. */
export class Refusals {
  readonly #found: MayflyError[] = [];

  /**
   * Keeps a refusal, and throws any other error.
   * @returns null when it was refused
   * @throws MayflyError dockerfile_unsupported when no more are kept
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

  /** @throws MayflyError dockerfile_unsupported with all that were kept, by their lines */
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
