import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import { type CertificateRecord, certificateRecord } from '../../model/sandbox/certificate.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { repositoryOf } from '../repository/repository.ts';

/** Digits of 2^64 − 1; padded to as many, `_id`s sort as numbers do. */
const SERIAL_DIGITS = 20;
const SERIAL = /^[1-9]\d{0,19}$/;

/** Issued certificates; `_id` is the serial. Written by control activities only. */
export class Certificates extends repositoryOf({
  collection: 'certificates',
  noun: 'a certificate',
  isId: (id) => /^\d{20}$/.test(id),
  model: certificateRecord.omit({ serial: true }).extend({ id: z.string() }),
}) {
  /** Records an issue. Repeating it changes nothing. @throws MayflyError internal when the serial is another's */
  async add({ serial, ...rest }: CertificateRecord): Promise<void> {
    if (await this.insert({ _id: idOf(serial), ...rest })) return;
    if ((await this.get(serial))?.keyId === rest.keyId) return;
    throw new MayflyError('internal', `The certificate serial ${serial} was given twice.`);
  }

  async get(serial: string): Promise<CertificateRecord | null> {
    const found = SERIAL.test(serial) ? await this.findById(idOf(serial)) : null;
    return found && certificateOf(found);
  }

  /** Returns all certificates for a sandbox or source, newest first. */
  async of(sandboxId: string): Promise<CertificateRecord[]> {
    if (!isAuditSubject(sandboxId)) throw new MayflyError('invalid_id', 'That is not the id of a sandbox or a source.');
    return (await this.find({ sandboxId }, { sort: { _id: -1 } })).map(certificateOf);
  }

  /** Returns the certificates issued for one signed request: one per repetition. */
  async ofRequest(request: string): Promise<CertificateRecord[]> {
    return (await this.find({ request })).map(certificateOf);
  }

  /** Marks certificates as revoked; a revoked one keeps its first date. */
  async revoke(serials: readonly string[], revokedAt: string, revokedBy: Actor | null): Promise<void> {
    await this.#set(serials, { revokedAt: null }, { revokedAt, revokedBy });
  }

  /** Records that the guest refuses these certificates. */
  async refused(serials: readonly string[], refusedAt: string): Promise<void> {
    await this.#set(serials, { refusedAt: null }, { refusedAt });
  }

  /**
   * Deletes certificates that expired before a time, except unrevoked ones of the platform; the audit keeps their
   * issue. @returns number deleted
   */
  prune(before: string): Promise<number> {
    return this.deleteAll({
      validBefore: { $lt: before },
      $or: [{ purpose: 'caller' }, { revokedAt: { $ne: null } }],
    });
  }

  /** Updates one by one, by `_id`: they are few, and a list of ids is a scan in the embedded store. */
  async #set(serials: readonly string[], where: object, change: Partial<CertificateRecord>): Promise<void> {
    for (const serial of serials) await this.set({ _id: idOf(serial), ...where }, change);
  }
}

function certificateOf({ id, ...rest }: Omit<CertificateRecord, 'serial'> & { id: string }): CertificateRecord {
  return { serial: id.replace(/^0+/, ''), ...rest };
}

function idOf(serial: string): string {
  return serial.padStart(SERIAL_DIGITS, '0');
}
