import type { Connection, Model } from 'mongoose';
import type { Envelope, ReceiptKey } from '../../model/functions/receipt.ts';
import { isDuplicateKey } from '../mongo/failure.ts';
import { modelOf } from '../mongo/model.ts';
import { ENCRYPTED, NAME, strictSchema } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface StoredReceipt {
  envelope: Envelope;
  signedAt: string;
}

type KeyDocument = Omit<ReceiptKey, 'keyid'> & { _id: string };

/** Signed statements about runs, one each, and the public keys that verify them. Neither is ever written over. */
export class Receipts extends Repository<StoredReceipt> {
  readonly #keys: Model<KeyDocument>;

  constructor(connection: Connection, sealing: Sealing) {
    const fields = { envelope: ENCRYPTED, signedAt: NAME };
    super(connection, sealing, { collection: 'receipts', noun: 'a receipt', fields });
    const key = strictSchema<KeyDocument>({ _id: NAME, publicKey: NAME, since: NAME });
    this.#keys = modelOf(connection, 'receiptKeys', key);
  }

  /** @returns false: the run has one, which stays */
  async add(runId: string, envelope: Envelope, signedAt: string): Promise<boolean> {
    return this.insert({ _id: runId, envelope, signedAt });
  }

  async get(runId: string): Promise<Envelope | null> {
    return (await this.findById(runId))?.envelope ?? null;
  }

  async remove(runId: string): Promise<void> {
    await this.deleteOne({ _id: runId });
  }

  /** Lets anybody have the public key of who signs from now on. Again, it changes nothing. */
  async addKey({ keyid, publicKey }: Omit<ReceiptKey, 'since'>): Promise<void> {
    try {
      await this.#keys.create({ _id: keyid, publicKey, since: new Date().toISOString() });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** The newest first. */
  async keys(): Promise<ReceiptKey[]> {
    const found = await this.#keys.find().lean<KeyDocument[]>();
    const keys = found.map(({ _id: keyid, publicKey, since }) => ({ keyid, publicKey, since }));
    return keys.sort((a, b) => (`${a.since} ${a.keyid}` < `${b.since} ${b.keyid}` ? 1 : -1));
  }
}
