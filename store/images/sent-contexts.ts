import { randomBytes } from 'node:crypto';
import type { Connection } from 'mongoose';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { encryptedField, instant } from '../../model/fields.ts';
import type { ContextDescription } from '../../model/image/sent-context.ts';
import { bytesOf, type StoredBytes } from '../mongo/bytes.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';

/** Bytes of an archive in one document. */
export const PIECE_BYTES = 1_048_576;
/** Pieces announced at once, so that cleanup of an unfinished upload knows its length. */
export const PIECES_ANNOUNCED = 16;

const sentContext = z.object({
  project: z.string(),
  digest: z.string().describe('SHA-256 of the archive, hexadecimal'),
  bytes: z.number(),
  usedAt: instant.describe('A text: the embedded store has indexes of texts alone'),
  isWhole: z.boolean(),
  pieces: z.int(),
  context: encryptedField(z.custom<ContextDescription>()).nullable(),
});
type StoredArchive = z.infer<typeof sentContext>;

/** Complete or partial archive; its id is that of the upload. */
interface UploadedArchive extends Pick<StoredArchive, 'project' | 'digest' | 'bytes'> {
  id: string;
  usedAt: Date;
}

class ContextPieces extends repositoryOf({
  collection: 'sentContextPieces',
  noun: 'a piece',
  model: z.object({ bytes: encryptedField(z.custom<StoredBytes>()) }),
}) {
  async add(_id: string, bytes: Uint8Array): Promise<void> {
    if (!(await this.insert({ _id, bytes: Buffer.from(bytes) }))) throw new Error(`The piece ${_id} was sent twice.`);
  }

  async get(_id: string): Promise<Uint8Array | null> {
    const found = await this.findById(_id);
    return found && bytesOf(found.bytes);
  }

  async remove(_id: string): Promise<void> {
    await this.deleteOne({ _id });
  }
}

/**
 * Build contexts too large for a request: an archive in pieces of {@link PIECE_BYTES}, `_id` = `<upload>/<n>`, and one
 * document with its project. Each upload has its own pieces, so uploads never overwrite each other.
 */
export class UploadedContexts extends repositoryOf({
  collection: 'sentContexts',
  noun: 'a context',
  model: sentContext,
}) {
  readonly #pieces: ContextPieces;

  constructor(connection: Connection, sealing: StoreEncryption) {
    super(connection, sealing);
    this.#pieces = new ContextPieces(connection, sealing);
  }

  /** Returns the bytes that a project has uploaded or is uploading. */
  async bytesOf(project: string): Promise<number> {
    const found = await this.documents({ project: String(project) }, { only: { bytes: 1 } });
    return found.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Starts an upload. @returns its id */
  async begin(project: string, digest: string): Promise<string> {
    const _id = randomBytes(16).toString('hex');
    const fields = { project, digest, bytes: 0, pieces: 0, isWhole: false, usedAt: nowText(), context: null };
    if (await this.insert({ _id, ...fields })) return _id;
    throw new Error(`The sending ${_id} was begun twice.`);
  }

  /**
   * Stores the n-th piece, from 0, in order. @throws MayflyError context_not_found when the upload was removed as
   * abandoned
   */
  async put(id: string, n: number, bytes: Uint8Array): Promise<void> {
    if (n % PIECES_ANNOUNCED === 0) {
      const room = { pieces: n + PIECES_ANNOUNCED, bytes: (n + PIECES_ANNOUNCED) * PIECE_BYTES, usedAt: nowText() };
      await this.#change(id, room, n);
    }
    await this.#pieces.add(`${id}/${n}`, bytes);
  }

  async complete(id: string, { context, bytes }: { context: ContextDescription; bytes: number }): Promise<void> {
    const pieces = Math.ceil(bytes / PIECE_BYTES);
    const whole = { context, bytes, pieces, isWhole: true, usedAt: nowText() };
    await this.#change(id, whole, pieces);
  }

  /** @param pieces pieces that were sent: those stored after the removal are deleted too */
  async #change(id: string, fields: Partial<StoredArchive>, pieces: number): Promise<void> {
    if (await this.set({ _id: id }, fields)) return;
    await this.#removePieces(id, pieces);
    throw new MayflyError('context_not_found', 'It was sent too slowly, and is forgotten: send it again.');
  }

  async #removePieces(id: string, pieces: number): Promise<void> {
    for (let n = 0; n < pieces; n++) await this.#pieces.remove(`${id}/${n}`);
  }

  /** Returns a complete context and restarts its retention. Returns null when it was never uploaded, or removed. */
  async use(project: string, digest: string): Promise<(UploadedArchive & { context: ContextDescription }) | null> {
    const whole = { project: String(project), digest: String(digest), isWhole: true };
    const found = await this.model
      .findOneAndUpdate(whole, { $set: { usedAt: nowText() } }, { returnDocument: 'after' })
      .lean<DocumentOf<StoredArchive>>();
    if (!found) return null;
    const { context } = this.decrypted(found);
    if (context === null) throw new Error(`The context ${found.digest} is said to be whole, and has nothing.`);
    return { ...keptOf(found), context: { ...context, digest: found.digest } };
  }

  /** Reads bytes from an offset. @throws Error for missing pieces */
  async *read(id: string, from: number, length: number): AsyncGenerator<Uint8Array> {
    for (let at = from; at < from + length; ) {
      const n = Math.floor(at / PIECE_BYTES);
      const begin = at - n * PIECE_BYTES;
      const bytes = (await this.#pieces.get(`${id}/${n}`))?.subarray(begin, begin + from + length - at);
      if (!bytes || bytes.length === 0) throw new Error(`A piece of the context ${id} is missing.`);
      yield bytes;
      at += bytes.length;
    }
  }

  /** Returns archives that were neither used nor extended since then. @param incompleteOnly unfinished uploads only */
  async unused(before: Date, incompleteOnly = false): Promise<UploadedArchive[]> {
    const filter = { usedAt: { $lt: before.toISOString() }, ...(incompleteOnly && { isWhole: false }) };
    return (await this.documents(filter, { only: { context: 0 } })).map(keptOf);
  }

  /** Removes an archive, unless it was used since. @param unusedSince `@default` removes in any case */
  async remove(id: string, unusedSince?: Date): Promise<void> {
    const unused = unusedSince && { usedAt: { $lte: unusedSince.toISOString() } };
    const found = await this.model
      .findOneAndUpdate({ _id: id, ...unused }, { $set: { isWhole: false } })
      .lean<DocumentOf<StoredArchive>>();
    await this.#removePieces(id, found?.pieces ?? 0);
    if (found) await this.deleteOne({ _id: id });
  }
}

function keptOf({ _id: id, project, digest, bytes, usedAt }: DocumentOf<StoredArchive>): UploadedArchive {
  return { id, project, digest, bytes, usedAt: new Date(usedAt) };
}

function nowText(): string {
  return new Date().toISOString();
}
