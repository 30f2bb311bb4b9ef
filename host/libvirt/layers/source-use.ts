import { MayflyError } from '../../../model/errors.ts';
import { ReferenceCounts } from './reference-counts.ts';

/**
 * Who is about to clone a source, and which sources are about to go: both are done by this one process, so it need not be
 * written down. What has been cloned says itself what it refers to.
 */
export class SourceUse {
  readonly #counts = new ReferenceCounts();
  readonly #leaving = new Set<string>();

  /** Clones a source, which stays as long as that takes. @throws MayflyError source_not_found when it is being removed */
  async by<T>(source: string, clone: () => Promise<T>): Promise<T> {
    if (this.#leaving.has(source)) throw new MayflyError('source_not_found', `${source} is being deleted.`);
    this.#counts.acquire(source);
    try {
      return await clone();
    } finally {
      this.#counts.release(source);
    }
  }

  /** Removes a source that nobody begins to clone meanwhile. @throws MayflyError source_in_use */
  async without(source: string, remove: () => Promise<void>): Promise<void> {
    if (this.#counts.has(source)) throw new MayflyError('source_in_use', `${source} is being cloned at this moment.`);
    this.#leaving.add(source);
    try {
      await remove();
    } finally {
      this.#leaving.delete(source);
    }
  }
}
