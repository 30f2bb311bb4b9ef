import { pieceRepositoryOf } from '../repository/pieces.ts';

/** Files of functions, as tar archives by project and digest. */
export class FunctionFiles extends pieceRepositoryOf('functionFiles') {}
