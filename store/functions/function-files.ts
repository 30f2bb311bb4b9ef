import type { Connection } from 'mongoose';
import { Pieces } from '../repository/pieces.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** The files of functions, tar archives by their digests. */
export class FunctionFiles {
  readonly #pieces: Pieces;

  constructor(connection: Connection, sealing: Sealing) {
    this.#pieces = new Pieces(connection, sealing, 'functionFiles');
  }

  async put(project: string, digest: string, bytes: Uint8Array): Promise<void> {
    await this.#pieces.put(`${project}/${digest}`, bytes);
  }

  /** Null: they are not there any more. */
  async get(project: string, digest: string): Promise<Uint8Array | null> {
    return this.#pieces.get(`${project}/${digest}`);
  }

  async remove(project: string, digest: string): Promise<void> {
    await this.#pieces.remove(`${project}/${digest}`);
  }
}
