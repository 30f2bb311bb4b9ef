import { type ErrorCode, MayflyError } from '../../../model/errors.ts';
import { ReferenceCounts } from '../../os/reference-counts.ts';

/**
 * Shared and exclusive use of sources, in memory: one process does both. Existing clones name their references
 * themselves.
 */
export class SharedLock {
  readonly #counts = new ReferenceCounts();
  readonly #changing = new Set<string>();

  /** @param change description of the exclusive change, and the error code for users that it refuses */
  constructor(private readonly change: { code: ErrorCode; what: string }) {}

  /** Runs `use` while the source cannot change. @throws MayflyError of the constructor's code */
  async by<T>(source: string, use: () => Promise<T>): Promise<T> {
    if (this.#changing.has(source)) throw this.#changes(this.change.code, source);
    this.#counts.acquire(source);
    try {
      return await use();
    } finally {
      this.#counts.release(source);
    }
  }

  /** Changes a source, refusing new users. @throws MayflyError source_in_use */
  async without<T>(source: string, change: () => Promise<T>): Promise<T> {
    if (this.#changing.has(source)) throw this.#changes('source_in_use', source);
    if (this.#counts.has(source)) {
      throw new MayflyError('source_in_use', `${source} is being cloned, or started, at this moment.`);
    }
    this.#changing.add(source);
    try {
      return await change();
    } finally {
      this.#changing.delete(source);
    }
  }

  #changes(code: ErrorCode, source: string): MayflyError {
    return new MayflyError(code, `${source} is being ${this.change.what}.`);
  }
}
