import { z } from 'zod';
import { instant } from '../../model/fields.ts';
import { repositoryOf } from '../repository/repository.ts';

const signer = z.object({ at: instant });

/** Whose signatures count, `_id` = public key, base64url. What the API inserts and what the control worker does are apart. */
export class Signers extends repositoryOf({ collection: 'apiSigners', noun: 'a signer', model: signer }) {
  /** Lets what is signed by this key count as the API's. Again, it changes nothing. */
  async addApi(publicKey: string): Promise<void> {
    await this.insert({ _id: publicKey, at: new Date().toISOString() });
  }

  async isApi(publicKey: string): Promise<boolean> {
    return (await this.findById(publicKey)) !== null;
  }
}
