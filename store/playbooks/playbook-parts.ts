import type { Connection, Model } from 'mongoose';
import type { PlaybookPart } from '../../model/playbook/playbook.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface PartDocument {
  /** `<playbook id>/<part>/<n>` */
  _id: string;
  bytes: StoredBytes;
}

/** Well below what one document may have. Bytes. */
const PIECE_BYTES = 4 * 1_024 * 1_024;

/** What the archive of a playbook is made of, in pieces of 4 MiB; the last is shorter, or empty. */
export class PlaybookParts {
  readonly #model: Model<PartDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('playbookParts');
    const schema = strictSchema<PartDocument>({ _id: NAME, bytes: SEALED });
    this.#model = connection.model<PartDocument>('PlaybookPart', schema, 'playbookParts');
  }

  /** In place of what was there: the same playbook, written once more. */
  async put(playbookId: string, part: PlaybookPart, bytes: Uint8Array): Promise<void> {
    for (let n = 0; ; n++) {
      const _id = `${playbookId}/${part}/${n}`;
      const piece = Buffer.from(bytes.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES));
      const sealed = this.#fields.sealed(_id, { bytes: piece });
      await reaching('keep a playbook', () => this.#model.updateOne({ _id }, { $set: sealed }, { upsert: true }));
      if (piece.length < PIECE_BYTES) return;
    }
  }

  /** Null: nothing of it was written. */
  async get(playbookId: string, part: PlaybookPart): Promise<Uint8Array | null> {
    const pieces: Uint8Array[] = [];
    for (let n = 0; ; n++) {
      const _id = `${playbookId}/${part}/${n}`;
      const found = await reaching('read a playbook', () => this.#model.findById(_id).lean<PartDocument>());
      if (!found) return null;
      const piece = bytesOf(this.#fields.opened(found).bytes);
      pieces.push(piece);
      if (piece.length < PIECE_BYTES) return Buffer.concat(pieces);
    }
  }
}
