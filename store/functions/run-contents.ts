import type { Connection } from 'mongoose';
import { Pieces, type PieceWriter } from '../repository/pieces.ts';
import type { Sealing } from '../sealed/sealing.ts';

/**
 * What a run has that is not in its record: a large event, by its digest, the result, the list of its artifacts, the n-th of
 * them, what its process changed. */
export type RunContent = `event/${string}` | 'result' | 'artifacts' | `artifact/${number}` | 'diff';

/** Contents of runs. */
export class RunContents {
  readonly #pieces: Pieces;

  constructor(connection: Connection, sealing: Sealing) {
    this.#pieces = new Pieces(connection, sealing, 'runContents');
  }

  /** In place of what was there. */
  async put(runId: string, content: RunContent, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    await this.#pieces.put(`${runId}/${content}`, bytes);
  }

  /** Takes one as it comes. */
  writer(runId: string, content: RunContent): PieceWriter {
    return this.#pieces.writer(`${runId}/${content}`);
  }

  /** Null: there is none. */
  async get(runId: string, content: RunContent): Promise<Uint8Array | null> {
    return this.#pieces.get(`${runId}/${content}`);
  }

  /** Piece by piece. @returns whether it was whole */
  read(runId: string, content: RunContent): AsyncGenerator<Uint8Array, boolean> {
    return this.#pieces.read(`${runId}/${content}`);
  }

  /** All of a run. */
  async remove(runId: string): Promise<void> {
    await this.#pieces.remove(runId);
  }
}
