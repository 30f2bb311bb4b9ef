import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { isHostId } from '../../model/ids.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, strictSchema } from '../mongo/schema.ts';

interface ApiSignerDocument {
  /** The public key, base64url. */
  _id: string;
  at: string;
}

interface HostSignerDocument {
  /** `<host id>/<installation id>` */
  _id: string;
  publicKey: string;
  at: string;
}

/** Whose signatures count. What the API inserts and what the control worker does are apart. */
export class Signers {
  readonly #apis: Model<ApiSignerDocument>;
  readonly #hosts: Model<HostSignerDocument>;

  constructor(connection: Connection) {
    this.#apis = connection.model<ApiSignerDocument>('ApiSigner', strictSchema({ _id: NAME, at: NAME }), 'apiSigners');
    const host = strictSchema<HostSignerDocument>({ _id: NAME, publicKey: NAME, at: NAME });
    this.#hosts = connection.model<HostSignerDocument>('HostSigner', host, 'hostSigners');
  }

  /** Lets what is signed by this key count as the API's. Again, it changes nothing. */
  async addApi(publicKey: string): Promise<void> {
    await ignoringDuplicates(() =>
      reaching('add a key of the API', () => this.#apis.create({ _id: publicKey, at: new Date().toISOString() })),
    );
  }

  async isApi(publicKey: string): Promise<boolean> {
    return (await reaching('find a key of the API', () => this.#apis.findById(publicKey).lean())) !== null;
  }

  /**
   * The key of an installation whose id is not made of one: what it signed with first.
   * @param publicKey is remembered when there is none
   */
  async ofHost(ref: HostRef, publicKey: string): Promise<string> {
    const _id = idOf(ref);
    const find = () => reaching('find the key of a host', () => this.#hosts.findById(_id).lean<HostSignerDocument>());
    const known = await find();
    if (known) return known.publicKey;
    await ignoringDuplicates(() =>
      reaching('remember the key of a host', () =>
        this.#hosts.create({ _id, publicKey, at: new Date().toISOString() }),
      ),
    );
    return (await find())?.publicKey ?? publicKey;
  }

  /** Any installation of this host may come with another key. */
  async forgetHost(hostId: string): Promise<void> {
    if (!isHostId(hostId)) throw new MayflyError('invalid_id', 'That is not a host id.');
    await reaching(
      'forget the keys of a host',
      () => this.#hosts.deleteMany({ _id: { $gte: `${hostId}/`, $lt: `${hostId}0` } }), // `0` follows `/` in ASCII
    );
  }
}

function idOf({ hostId, installationId = null }: HostRef): string {
  return `${hostId}/${installationId}`;
}

async function ignoringDuplicates(insert: () => Promise<unknown>): Promise<void> {
  try {
    await insert();
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}
