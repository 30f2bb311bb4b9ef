import type { Connection } from 'mongoose';
import { NAME } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Whose signatures count, `_id` = public key, base64url. What the API inserts and what the control worker does are apart. */
export class Signers extends Repository<{ at: string }> {
  constructor(connection: Connection, sealing: Sealing) {
    super(connection, sealing, { collection: 'apiSigners', noun: 'a signer', fields: { at: NAME } });
  }

  /** Lets what is signed by this key count as the API's. Again, it changes nothing. */
  async addApi(publicKey: string): Promise<void> {
    await this.insert({ _id: publicKey, at: new Date().toISOString() });
  }

  async isApi(publicKey: string): Promise<boolean> {
    return (await this.findById(publicKey)) !== null;
  }
}
