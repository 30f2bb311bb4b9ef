import type { Connection } from 'mongoose';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { ENCRYPTED } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface StoredContext {
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
export class ImageContexts extends Repository<StoredContext> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { archive: ENCRYPTED, secrets: ENCRYPTED };
    super(connection, sealing, { collection: 'imageContexts', noun: 'an image', fields });
  }

  /** What is there already (a repeated request) stays. */
  async keep(imageId: string, { archive, secrets }: KeptContext): Promise<void> {
    await this.insert({ _id: imageId, archive: archive && Buffer.from(archive), secrets });
  }

  /** Null once it was removed. */
  async get(imageId: string): Promise<KeptContext | null> {
    const found = await this.findById(imageId);
    return found && { archive: found.archive && bytesOf(found.archive), secrets: found.secrets ?? {} };
  }

  async remove(imageId: string): Promise<void> {
    await this.deleteOne({ _id: String(imageId) });
  }
}
