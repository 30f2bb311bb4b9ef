import type { Connection, Model } from 'mongoose';
import type { Envelope, ReceiptKey } from '../../model/functions/receipt.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

interface ReceiptDocument {
  /** The run. */
  _id: string;
  envelope: Envelope;
  signedAt: string;
}

type KeyDocument = Omit<ReceiptKey, 'keyid'> & { _id: string };

/** Signed statements about runs, one each, and the public keys that verify them. Neither is ever written over. */
export class Receipts {
  readonly #receipts: Model<ReceiptDocument>;
  readonly #keys: Model<KeyDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('receipts');
    const schema = strictSchema<ReceiptDocument>({ _id: NAME, envelope: SEALED, signedAt: NAME });
    this.#receipts = connection.model<ReceiptDocument>('Receipt', schema, 'receipts');
    const key = strictSchema<KeyDocument>({ _id: NAME, publicKey: NAME, since: NAME });
    this.#keys = connection.model<KeyDocument>('ReceiptKey', key, 'receiptKeys');
  }

  /** @returns false: the run has one, which stays */
  async add(runId: string, envelope: Envelope, signedAt: string): Promise<boolean> {
    const document = { _id: runId, ...this.#fields.sealed(runId, { envelope }), signedAt };
    return inserted(() => reaching('keep a receipt', () => this.#receipts.create(document)));
  }

  async get(runId: string): Promise<Envelope | null> {
    const found = await reaching('read a receipt', () => this.#receipts.findById(runId).lean<ReceiptDocument>());
    return found && this.#fields.opened(found).envelope;
  }

  async remove(runId: string): Promise<void> {
    await reaching('remove a receipt', () => this.#receipts.deleteOne({ _id: runId }));
  }

  /** Lets anybody have the public key of who signs from now on. Again, it changes nothing. */
  async addKey({ keyid, publicKey }: Omit<ReceiptKey, 'since'>): Promise<void> {
    const document = { _id: keyid, publicKey, since: new Date().toISOString() };
    await inserted(() => reaching('tell a key of receipts', () => this.#keys.create(document)));
  }

  /** The newest first. */
  async keys(): Promise<ReceiptKey[]> {
    const found = await reaching('read the keys of receipts', () => this.#keys.find().lean<KeyDocument[]>());
    const keys = found.map(({ _id: keyid, publicKey, since }) => ({ keyid, publicKey, since }));
    return keys.sort((a, b) => (`${a.since} ${a.keyid}` < `${b.since} ${b.keyid}` ? 1 : -1));
  }
}

async function inserted(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}
