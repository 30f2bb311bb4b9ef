import { z } from 'zod';
import { encryptedField, instant } from '../../model/fields.ts';
import { type Envelope, envelope, type ReceiptKey, receiptKey } from '../../model/receipts/receipt.ts';
import { repositoryOf } from '../repository/repository.ts';

/** Signed receipts of runs, `_id` = run id. None is ever overwritten. */
export class Receipts extends repositoryOf({
  collection: 'receipts',
  noun: 'a receipt',
  model: z.object({ envelope: encryptedField(envelope), signedAt: instant }),
}) {
  /** @returns false when the run has one, which stays */
  async add(runId: string, envelope: Envelope, signedAt: string): Promise<boolean> {
    return this.insert({ _id: runId, envelope, signedAt });
  }

  async get(runId: string): Promise<Envelope | null> {
    return (await this.findById(runId))?.envelope ?? null;
  }

  async remove(runId: string): Promise<void> {
    await this.deleteOne({ _id: runId });
  }
}

/** Public keys that verify receipts, `_id` = key id. */
export class ReceiptKeys extends repositoryOf({
  collection: 'receiptKeys',
  noun: 'a key',
  model: receiptKey.omit({ keyid: true }),
}) {
  /** Publishes the public key of a signer. Idempotent. */
  async add({ keyid, publicKey }: Omit<ReceiptKey, 'since'>): Promise<void> {
    await this.insert({ _id: keyid, publicKey, since: new Date().toISOString() });
  }

  /** Lists keys, newest first. */
  async list(): Promise<ReceiptKey[]> {
    const found = await this.documents({});
    const keys = found.map(({ _id: keyid, publicKey, since }) => ({ keyid, publicKey, since }));
    return keys.sort((a, b) => (`${a.since} ${a.keyid}` < `${b.since} ${b.keyid}` ? 1 : -1));
  }
}
