import { z } from 'zod';
import { instant } from '../../model/fields.ts';
import { repositoryOf } from '../repository/repository.ts';

const signer = z.object({ at: instant });

/** Trusted public keys of API processes, `_id` = key, base64url. */
export class Signers extends repositoryOf({ collection: 'apiSigners', noun: 'a signer', model: signer }) {
  /** Trusts signatures by this key as the API's. Idempotent. */
  async addApi(publicKey: string): Promise<void> {
    await this.insert({ _id: publicKey, at: new Date().toISOString() });
  }

  async isApi(publicKey: string): Promise<boolean> {
    return (await this.findById(publicKey)) !== null;
  }
}
