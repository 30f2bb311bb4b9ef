import { type ErrorCode, MayflyError } from '../../../model/errors.ts';
import { ReferenceCounts } from '../../os/reference-counts.ts';

/**
 * Who needs a source as it is, and which sources are about to change: both are done by this one process, so it need not be
 * written down. What has been cloned says itself what it refers to.
 */
export class SourceUse {
  readonly #counts = new ReferenceCounts();
  readonly #changing = new Set<string>();

  /** @param change what becomes of sources, in words, and the code that whoever needs one meanwhile is refused with */
  constructor(private readonly change: { code: ErrorCode; what: string }) {}

  /** Does something with a source, which stays as it is as long as that takes. @throws MayflyError of the constructor's code */
  async by<T>(source: string, use: () => Promise<T>): Promise<T> {
    if (this.#changing.has(source)) throw this.#changes(this.change.code, source);
    this.#counts.acquire(source);
    try {
      return await use();
    } finally {
      this.#counts.release(source);
    }
  }

  /** Changes a source that nobody begins to use meanwhile. @throws MayflyError source_in_use */
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
