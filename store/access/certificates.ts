import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import { CERTIFICATE_PURPOSES, type CertificateRecord } from '../../model/sandbox/certificate.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, strictSchema } from '../mongo/schema.ts';

type CertificateDocument = Omit<CertificateRecord, 'serial'> & { _id: string };

/** 2^64 − 1 has 20 digits; with as many, `_id`s sort as numbers do. */
const SERIAL_DIGITS = 20;
const SERIAL = /^[1-9]\d{0,19}$/;

/** Every certificate that was issued; `_id` is its serial. Written by control activities only. */
export class Certificates {
  readonly #model: Model<CertificateDocument>;

  constructor(connection: Connection) {
    this.#model = connection.model<CertificateDocument>('Certificate', certificateSchema(), 'certificates');
  }

  /** Records an issue. Repeating it changes nothing. @throws MayflyError internal when the serial is another's */
  async add(record: CertificateRecord): Promise<void> {
    const { serial, ...rest } = record;
    try {
      await reaching('record a certificate', () => this.#model.create({ _id: idOf(serial), ...rest }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      if ((await this.get(serial))?.keyId === record.keyId) return;
      throw new MayflyError('internal', `The certificate serial ${serial} was given twice.`);
    }
  }

  async get(serial: string): Promise<CertificateRecord | null> {
    if (!SERIAL.test(serial)) return null;
    const found = await reaching('read a certificate', () =>
      this.#model.findById(idOf(serial)).lean<CertificateDocument>(),
    );
    return found && recordOf(found);
  }

  /** All certificates that open this sandbox or source, newest first. */
  async of(sandboxId: string): Promise<CertificateRecord[]> {
    if (!isAuditSubject(sandboxId)) throw new MayflyError('invalid_id', 'That is not the id of a sandbox or a source.');
    const found = await reaching('list certificates', () =>
      this.#model.find({ sandboxId }).sort({ _id: -1 }).lean<CertificateDocument[]>(),
    );
    return found.map(recordOf);
  }

  /** Those that were given to one signed request: of one run, and each time that it was repeated one more. */
  async ofRequest(request: string): Promise<CertificateRecord[]> {
    const found = await reaching('find the certificates of a request', () =>
      this.#model.find({ request }).lean<CertificateDocument[]>(),
    );
    return found.map(recordOf);
  }

  /** Marks certificates as revoked; one that is already keeps its first date. */
  async revoke(serials: readonly string[], revokedAt: string, revokedBy: Actor | null): Promise<void> {
    await this.#set(serials, { revokedAt: null }, { revokedAt, revokedBy });
  }

  /** Remembers that the guest does not let them in any more. */
  async refused(serials: readonly string[], refusedAt: string): Promise<void> {
    await this.#set(serials, { refusedAt: null }, { refusedAt });
  }

  /**
   * Forgets certificates that ended before the given time, but not the platform's own of what still lives; the audit trail
   * keeps their issue. @returns how many
   */
  async prune(before: string): Promise<number> {
    return reaching('prune certificates', async () => {
      return (
        await this.#model.deleteMany({
          validBefore: { $lt: before },
          $or: [{ purpose: 'caller' }, { revokedAt: { $ne: null } }],
        })
      ).deletedCount;
    });
  }

  /** One by one, by `_id`: they are few, and a list of ids is a scan in the embedded store. */
  async #set(serials: readonly string[], where: object, change: Partial<CertificateDocument>): Promise<void> {
    for (const serial of serials) {
      await reaching('change a certificate', () =>
        this.#model.updateOne({ _id: idOf(serial), ...where }, { $set: change }),
      );
    }
  }
}

function idOf(serial: string): string {
  return serial.padStart(SERIAL_DIGITS, '0');
}

function recordOf({ _id, ...rest }: CertificateDocument): CertificateRecord {
  return { serial: _id.replace(/^0+/, ''), ...rest };
}

function certificateSchema(): Schema<CertificateDocument> {
  const actor = actorPart();
  return strictSchema<CertificateDocument>({
    _id: NAME,
    sandboxId: NAME,
    keyId: NAME,
    actor: { type: actor, required: true },
    purpose: { type: String, required: true, enum: CERTIFICATE_PURPOSES },
    fingerprint: NAME,
    signedBy: NAME,
    validAfter: NAME,
    validBefore: NAME,
    revokedAt: NULLABLE_TEXT,
    revokedBy: { type: actor, default: null },
    refusedAt: NULLABLE_TEXT,
    request: NULLABLE_TEXT,
    runId: NULLABLE_TEXT,
  });
}
