import type { Connection, Model } from 'mongoose';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface ContextDocument {
  _id: string;
  archive: StoredBytes | null;
  secrets: Record<string, string> | null;
}

/** What a build takes from. */
export interface KeptContext {
  /** Null: it was given none. */
  archive: Uint8Array | null;
  /** By id, in base64. */
  secrets: Record<string, string>;
}

/** What builds copy from, and the secrets that they are given, `_id` = image id; removed when the build is over. */
export class ImageContexts {
  readonly #model: Model<ContextDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('imageContexts');
    const schema = strictSchema<ContextDocument>({ _id: NAME, archive: SEALED, secrets: SEALED });
    this.#model = connection.model<ContextDocument>('ImageContext', schema, 'imageContexts');
  }

  /** What is there already (a repeated request) stays. */
  async keep(imageId: string, { archive, secrets }: KeptContext): Promise<void> {
    const sealed = this.#fields.sealed(imageId, { archive: archive && Buffer.from(archive), secrets });
    try {
      await reaching('keep the context of an image', () => this.#model.create({ _id: imageId, ...sealed }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Null once it was removed. */
  async get(imageId: string): Promise<KeptContext | null> {
    const found = await reaching('read the context of an image', () =>
      this.#model.findById(String(imageId)).lean<ContextDocument>(),
    );
    if (!found) return null;
    const { archive, secrets } = this.#fields.opened(found);
    return { archive: archive && bytesOf(archive), secrets: secrets ?? {} };
  }

  async remove(imageId: string): Promise<void> {
    await reaching('forget the context of an image', () => this.#model.deleteOne({ _id: String(imageId) }));
  }
}
