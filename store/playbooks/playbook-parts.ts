import type { Connection } from 'mongoose';
import type { PlaybookPart } from '../../model/playbook/playbook.ts';
import { Pieces } from '../repository/pieces.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** What the archive of a playbook is made of. */
export class PlaybookParts {
  readonly #pieces: Pieces;

  constructor(connection: Connection, sealing: Sealing) {
    this.#pieces = new Pieces(connection, sealing, 'playbookParts');
  }

  /** In place of what was there: the same playbook, written once more. */
  async put(playbookId: string, part: PlaybookPart, bytes: Uint8Array): Promise<void> {
    await this.#pieces.put(`${playbookId}/${part}`, bytes);
  }

  /** Null: nothing of it was written. */
  async get(playbookId: string, part: PlaybookPart): Promise<Uint8Array | null> {
    return this.#pieces.get(`${playbookId}/${part}`);
  }
}
