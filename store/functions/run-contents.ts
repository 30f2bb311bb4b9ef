import { piecesOf } from '../repository/pieces.ts';

/**
 * What a run has that is not in its record: a large event, by its digest, the result, the list of its artifacts, the n-th of
 * them, what its process changed. */
export type RunContent = `event/${string}` | 'result' | 'artifacts' | `artifact/${number}` | 'diff';

/** Contents of runs. */
export class RunContents extends piecesOf<RunContent>('runContents') {}
