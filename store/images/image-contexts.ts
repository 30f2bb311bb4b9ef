import type { Connection, Model } from 'mongoose';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface ContextDocument {
  _id: string;
  archive: StoredBytes;
}

/** The archives that builds copy from, `_id` = image id; removed when the build is over. */
export class ImageContexts {
  readonly #model: Model<ContextDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('imageContexts');
    const schema = strictSchema<ContextDocument>({ _id: NAME, archive: SEALED });
    this.#model = connection.model<ContextDocument>('ImageContext', schema, 'imageContexts');
  }

  /** What is there already (a repeated request) stays. */
  async keep(imageId: string, archive: Uint8Array): Promise<void> {
    const sealed = this.#fields.sealed(imageId, { archive: Buffer.from(archive) });
    try {
      await reaching('keep the context of an image', () => this.#model.create({ _id: imageId, ...sealed }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Null once it was removed. */
  async get(imageId: string): Promise<Uint8Array | null> {
    const found = await reaching('read the context of an image', () =>
      this.#model.findById(String(imageId)).lean<ContextDocument>(),
    );
    return found && bytesOf(this.#fields.opened(found).archive);
  }

  async remove(imageId: string): Promise<void> {
    await reaching('forget the context of an image', () => this.#model.deleteOne({ _id: String(imageId) }));
  }
}
