import { randomBytes } from 'node:crypto';
import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import type { SentContext } from '../../model/image/sent-context.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { modelOf } from '../mongo/model.ts';
import { ENCRYPTED, NAME, NUMBER, strictSchema } from '../mongo/schema.ts';
import { type DocumentOf, Repository } from '../repository/repository.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Of what is sent, so many bytes are one document. */
export const PIECE_BYTES = 1_048_576;
/** So many pieces are announced at once, so that who removes what was never sent to its end knows how far it came. */
export const ANNOUNCED = 16;

/** One that was sent as a whole. */
export interface KeptArchive {
  /** Of this sending. */
  id: string;
  project: string;
  /** SHA-256 of the archive, hexadecimal. */
  digest: string;
  bytes: number;
  usedAt: Date;
}

interface StoredArchive extends Omit<KeptArchive, 'id' | 'usedAt'> {
  /** ISO 8601: the embedded store has indexes of texts. */
  usedAt: string;
  isWhole: boolean;
  pieces: number;
  context: SentContext | null;
}

interface PieceDocument {
  _id: string;
  bytes: StoredBytes;
}

/**
 * What builds copy from and is too large for a request: an archive in pieces of {@link PIECE_BYTES}, `_id` = `<sending>/<n>`, and
 * one document that says whose it is. Each sending has pieces of its own, so nobody writes into those of another.
 */
export class SentContexts extends Repository<StoredArchive> {
  readonly #pieces: Model<PieceDocument>;
  readonly #pieceEncryption: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    const archive = { project: NAME, digest: NAME, bytes: NUMBER, pieces: NUMBER, context: ENCRYPTED };
    const fields = { ...archive, isWhole: { type: Boolean, required: true }, usedAt: NAME };
    super(connection, sealing, { collection: 'sentContexts', noun: 'a context', fields });
    const piece = strictSchema<PieceDocument>({ _id: NAME, bytes: ENCRYPTED });
    this.#pieces = modelOf(connection, 'sentContextPieces', piece);
    this.#pieceEncryption = sealing.of('sentContextPieces', piece);
  }

  /** What a project has sent, or is sending, bytes. */
  async bytesOf(project: string): Promise<number> {
    const found = await this.documents({ project: String(project) }, { only: { bytes: 1 } });
    return found.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Begins one that is about to be sent. @returns its id */
  async begin(project: string, digest: string): Promise<string> {
    const _id = randomBytes(16).toString('hex');
    const fields = { project, digest, bytes: 0, pieces: 0, isWhole: false, usedAt: nowText(), context: null };
    if (await this.insert({ _id, ...fields })) return _id;
    throw new Error(`The sending ${_id} was begun twice.`);
  }

  /** The n-th, from 0: one after the other. @throws MayflyError context_not_found when it was taken for one that nobody sends any more */
  async put(id: string, n: number, bytes: Uint8Array): Promise<void> {
    if (n % ANNOUNCED === 0) {
      const room = { pieces: n + ANNOUNCED, bytes: (n + ANNOUNCED) * PIECE_BYTES, usedAt: nowText() };
      await this.#change(id, room, n);
    }
    const _id = `${id}/${n}`;
    const content = this.#pieceEncryption.sealed(_id, { bytes: Buffer.from(bytes) });
    await this.#pieces.create({ _id, ...content });
  }

  async complete(id: string, { context, bytes }: { context: SentContext; bytes: number }): Promise<void> {
    const pieces = Math.ceil(bytes / PIECE_BYTES);
    const whole = { context, bytes, pieces, isWhole: true, usedAt: nowText() };
    await this.#change(id, whole, pieces);
  }

  /** @param pieces so many were sent: those that came after it was forgotten go too */
  async #change(id: string, fields: Partial<StoredArchive>, pieces: number): Promise<void> {
    if (await this.set({ _id: id }, fields)) return;
    await this.#removePieces(id, pieces);
    throw new MayflyError('context_not_found', 'It was sent too slowly, and is forgotten: send it again.');
  }

  async #removePieces(id: string, pieces: number): Promise<void> {
    for (let n = 0; n < pieces; n++) {
      await this.#pieces.deleteOne({ _id: `${id}/${n}` });
    }
  }

  /** What it has, for who is about to use it: from now on it stays as long as one that was sent now. Null: it was not sent, or is forgotten. */
  async use(project: string, digest: string): Promise<(KeptArchive & { context: SentContext }) | null> {
    const whole = { project: String(project), digest: String(digest), isWhole: true };
    const found = await this.model
      .findOneAndUpdate(whole, { $set: { usedAt: nowText() } }, { returnDocument: 'after' })
      .lean<DocumentOf<StoredArchive>>();
    if (!found) return null;
    const { context } = this.decrypted(found);
    if (context === null) throw new Error(`The context ${found.digest} is said to be whole, and has nothing.`);
    return { ...keptOf(found), context: { ...context, digest: found.digest } };
  }

  /** Bytes from a place in it on. @throws Error for what is not there */
  async *read(id: string, from: number, length: number): AsyncGenerator<Uint8Array> {
    for (let at = from; at < from + length; ) {
      const n = Math.floor(at / PIECE_BYTES);
      const _id = `${id}/${n}`;
      const found = await this.#pieces.findById(_id).lean<PieceDocument>();
      const begin = at - n * PIECE_BYTES;
      const bytes =
        found && bytesOf(this.#pieceEncryption.opened(found).bytes).subarray(begin, begin + from + length - at);
      if (!bytes || bytes.length === 0) throw new Error(`A piece of the context ${id} is missing.`);
      yield bytes;
      at += bytes.length;
    }
  }

  /** Those that nobody has used since then, or sent a piece of. @param isHalf of those alone that were not sent to their end */
  async unused(before: Date, isHalf = false): Promise<KeptArchive[]> {
    const filter = { usedAt: { $lt: before.toISOString() }, ...(isHalf && { isWhole: false }) };
    return (await this.documents(filter, { only: { context: 0 } })).map(keptOf);
  }

  /** Unless somebody has begun to use it meanwhile. @param unusedSince `@default` whenever it was used */
  async remove(id: string, unusedSince?: Date): Promise<void> {
    const unused = unusedSince && { usedAt: { $lte: unusedSince.toISOString() } };
    const found = await this.model
      .findOneAndUpdate({ _id: id, ...unused }, { $set: { isWhole: false } })
      .lean<DocumentOf<StoredArchive>>();
    await this.#removePieces(id, found?.pieces ?? 0);
    if (found) await this.deleteOne({ _id: id });
  }
}

function keptOf({ _id: id, project, digest, bytes, usedAt }: DocumentOf<StoredArchive>): KeptArchive {
  return { id, project, digest, bytes, usedAt: new Date(usedAt) };
}

function nowText(): string {
  return new Date().toISOString();
}
