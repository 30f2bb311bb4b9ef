import { pieceRepositoryOf } from '../repository/pieces.ts';

/**
 * Contents of a run outside its record: a large event by its digest, the result, the list of artifacts, the n-th of
 * them, and the changes that its process made.
 */
export type RunContent = `event/${string}` | 'result' | 'artifacts' | `artifact/${number}` | 'diff';

/** Contents of runs. */
export class RunContents extends pieceRepositoryOf<RunContent>('runContents') {}
