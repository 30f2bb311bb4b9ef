import type { Connection } from 'mongoose';
import { isDuplicateKey, isForbidden, reaching } from '../mongo/failure.ts';
import { isSealed, keyIdOf, type Place, Seal, type StoreKeys } from './seal.ts';
import { SealedFields, type Unreadable } from './sealed-fields.ts';

/** Records that have ended are sealed as those of the living: they move as they are. */
const SEALED_AS: Readonly<Record<string, string>> = { endedSandboxes: 'sandboxes' };

/** Documents of one process that are reported. */
const REPORTED = 1_000;

/** The document that tells with which key a store is sealed. */
const MARK = 'key';
const MARK_AT: Place = { collection: 'layout', id: MARK, field: 'mark' };

interface KeyMark {
  _id: string;
  mark?: unknown;
}

/** The id of the key with which a store is sealed; null when nobody has said so. */
export async function keyOf(connection: Connection): Promise<string | null> {
  const found = await markIn(connection);
  return isSealed(found?.mark) ? keyIdOf(found.mark) : null;
}

function markIn(connection: Connection): Promise<KeyMark | null> {
  return reaching('read with which key the store is sealed', () => layoutOf(connection).findOne({ _id: MARK }));
}

function layoutOf(connection: Connection) {
  return connection.collection<KeyMark>('layout');
}

/** Seals and opens what is stored. */
export class Sealing {
  readonly #seal: Seal | null;
  readonly #reported = new Set<string>();

  /**
   * @param keys without them nothing that is sealed can be read or written
   * @param report takes each document that cannot be read, once
   */
  constructor(
    keys: StoreKeys | null,
    private readonly report: (unreadable: Unreadable) => void = () => undefined,
  ) {
    this.#seal = keys && new Seal(keys);
  }

  /** @param collection any: of one with nothing to seal all stays as it is */
  of(collection: string): SealedFields {
    return new SealedFields(this.#seal, SEALED_AS[collection] ?? collection, (unreadable) =>
      this.#reportOnce(unreadable),
    );
  }

  #reportOnce(unreadable: Unreadable): void {
    if (this.#reported.has(unreadable.problem) || this.#reported.size >= REPORTED) return;
    this.#reported.add(unreadable.problem);
    this.report(unreadable);
  }

  /**
   * Whether a store is sealed with one of the keys.
   * @param marks says there that the first of them seals from now on; where processes have users of their own, that of the
   *   control worker may
   * @throws MayflyError payload_key_unusable
   */
  async check(connection: Connection, marks: boolean): Promise<void> {
    if (!this.#seal) return;
    const found = await markIn(connection);
    if (isSealed(found?.mark)) this.#seal.open(MARK_AT, found.mark);
    if (!marks || this.#seal.isCurrent(found?.mark)) return;
    const layout = layoutOf(connection);
    const mark = this.#seal.seal(MARK_AT, 'sealed');
    try {
      await reaching('say with which key the store is sealed', async () => {
        if (found) await layout.updateOne({ _id: MARK }, { $set: { mark } });
        else await layout.insertOne({ _id: MARK, mark });
      });
    } catch (error) {
      if (isDuplicateKey(error)) return this.check(connection, marks);
      if (!isForbidden(error)) throw error;
    }
  }
}
