import { piecesOf } from '../repository/pieces.ts';

/** The files of functions, tar archives by their projects and digests. */
export class FunctionFiles extends piecesOf('functionFiles') {}
