import { z } from 'zod';
import { encryptedField } from '../../model/fields.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { repositoryOf } from '../repository/repository.ts';

const storedContext = z.object({
  archive: encryptedField(z.custom<StoredBytes>()).nullable(),
  secrets: encryptedField(z.record(z.string(), z.string())).nullable(),
});

/** Inputs of a build. */
export interface BuildInputs {
  /** Null when the build has no context. */
  archive: Uint8Array | null;
  /** Secrets by id, in base64. */
  secrets: Record<string, string>;
}

/** Contexts and secrets of builds, `_id` = image id; removed when the build ends. */
export class ImageContexts extends repositoryOf({
  collection: 'imageContexts',
  noun: 'an image',
  model: storedContext,
}) {
  /** Stores the inputs of a build; existing ones (of a repeated request) stay. */
  async keep(imageId: string, { archive, secrets }: BuildInputs): Promise<void> {
    await this.insert({ _id: imageId, archive: archive && Buffer.from(archive), secrets });
  }

  /** Returns null once removed. */
  async get(imageId: string): Promise<BuildInputs | null> {
    const found = await this.findById(imageId);
    return found && { archive: found.archive && bytesOf(found.archive), secrets: found.secrets ?? {} };
  }

  async remove(imageId: string): Promise<void> {
    await this.deleteOne({ _id: String(imageId) });
  }
}
