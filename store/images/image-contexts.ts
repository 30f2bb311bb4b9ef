import { z } from 'zod';
import { encrypted } from '../../model/fields.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { repositoryOf } from '../repository/repository.ts';

const storedContext = z.object({
  archive: encrypted(z.custom<StoredBytes>()).nullable(),
  secrets: encrypted(z.record(z.string(), z.string())).nullable(),
});

/** What a build takes from. */
export interface KeptContext {
  /** Null: it was given none. */
  archive: Uint8Array | null;
  /** By id, in base64. */
  secrets: Record<string, string>;
}

/** What builds copy from, and the secrets that they are given, `_id` = image id; removed when the build is over. */
export class ImageContexts extends repositoryOf({
  collection: 'imageContexts',
  noun: 'an image',
  model: storedContext,
}) {
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
