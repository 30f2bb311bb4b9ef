import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { ID_BYTES } from '../../model/ids.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { Scope } from '../../model/scopes.ts';
import { SCOPES } from '../../model/scopes.ts';
import type { StorageQuota } from '../../model/snapshots/storage.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { NAME, NULLABLE_NUMBER, NULLABLE_TEXT, strictSchema } from '../mongo/schema.ts';
import { endUnlessLast } from './last-operator.ts';

/** An API key as it may be shown; its secret is shown once, by {@link ApiKeys.create}, and never stored. */
export interface ApiKey extends StorageQuota {
  id: string;
  project: string;
  name: string;
  scopes: Scope[];
  createdAt: string;
  revokedAt: string | null;
}

type KeyWish = {
  name: string;
  /** `@default` the first */
  project?: string;
  scopes: readonly Scope[];
  /** Whether whoever makes it ends it too, when it stops. `@default` false */
  endsWithRun?: boolean;
} & Partial<StorageQuota>;

/** A key that was made; `secret` is the whole of it, as it is presented. */
interface NewKey {
  key: ApiKey;
  secret: string;
}

export interface ApiKeyDocument extends Omit<ApiKey, 'id'> {
  _id: string;
  endsWithRun?: boolean;
  /** Of the revocation that has begun; the key is good until it ends. See last-operator.ts. */
  revocation?: string;
  /** Hex SHA-256 of the secret's random part. */
  secretHash: string;
}

const KEY_ID = /^[0-9a-f]{12}$/;
/** Bytes of a key's id. */
const OWN_BYTES = 6;
/** `mfk_`, the key's id, and 256 random bits in base64url: a prefix that secret scanners can know. */
const PRESENTED = /^mfk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

/**
 * API keys. The secret has 256 random bits, so nobody can guess it from its hash however quick the hash is; a slow
 * hash (bcrypt, scrypt) protects what people choose themselves, and would cost every request 50 ms or more.
 */
export class ApiKeys {
  readonly #model: Model<ApiKeyDocument>;
  /** Those of requests that come at once are read at once, and none before it was presented. */
  readonly #presented = new GroupCommit((ids: string[]) => this.#getAll(ids));

  constructor(connection: Connection) {
    const schema = strictSchema<ApiKeyDocument>({
      _id: NAME,
      project: NAME,
      name: NAME,
      scopes: [{ type: String, enum: SCOPES }],
      secretHash: NAME,
      createdAt: NAME,
      revokedAt: NULLABLE_TEXT,
      diskBytes: NULLABLE_NUMBER,
      sandboxDiskBytes: NULLABLE_NUMBER,
      endsWithRun: Boolean,
      revocation: String,
    });
    this.#model = connection.model<ApiKeyDocument>('ApiKey', schema, 'apiKeys');
  }

  /**
   * Makes a key. `secret` is the whole key as it is presented; this is the only time that it is known.
   * @throws MayflyError stale_attempt when there is one of that id
   */
  async create(wish: KeyWish, id = apiKeyIdFrom(randomBytes(ID_BYTES))): Promise<NewKey> {
    const { document, secret } = fresh(id, wish);
    if (await this.#add(document)) return { key: shown(document), secret };
    throw new MayflyError('stale_attempt', `The API key ${id} has been made meanwhile.`);
  }

  /**
   * As {@link create}, with that id. Made again, a key has another secret, and the one before is refused.
   * @returns null when it has been made, and revoked, before
   */
  async ensure(id: string, wish: KeyWish): Promise<NewKey | null> {
    const { document, secret } = fresh(id, wish);
    const key = (await this.#add(document)) ? shown(document) : await this.#renew(document);
    return key && { key, secret };
  }

  /** Whether it was not there. */
  async #add(document: ApiKeyDocument): Promise<boolean> {
    try {
      await reaching('store an API key', () => this.#model.create(document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Only what was made of the same wish. */
  async #renew({ _id, project, name, secretHash }: ApiKeyDocument): Promise<ApiKey | null> {
    const living = { _id, project, name, revokedAt: null };
    const { matchedCount } = await reaching('renew an API key', () =>
      this.#model.updateOne(living, { $set: { secretHash } }),
    );
    return matchedCount === 0 ? null : await this.get(_id);
  }

  /** Null when there is no such key: those of tests, and of what nobody asked for, have no quota. */
  async get(id: string): Promise<ApiKey | null> {
    const document = await this.#get(id);
    return document && shown(document);
  }

  /** The keys that have a quota. */
  async limited(): Promise<ApiKey[]> {
    const keys = await this.list();
    return keys.filter(({ diskBytes, sandboxDiskBytes }) => diskBytes !== null || sandboxDiskBytes !== null);
  }

  /** Changes how much may be stored; what is not named stays. Null when there is no such key. */
  async limit(id: string, quota: Partial<StorageQuota>): Promise<ApiKey | null> {
    const present = await this.#get(id);
    if (!present) return null;
    await reaching('limit an API key', () => this.#model.updateOne({ _id: id }, { $set: quota }));
    return shown({ ...present, ...quota });
  }

  /** All keys, also revoked ones, oldest first. */
  async list(): Promise<ApiKey[]> {
    const found = await reaching('list API keys', () => this.#model.find().lean<ApiKeyDocument[]>());
    return found.map(shown).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  }

  /** Ends a key at once; one that is revoked already keeps its first date. Null when there is no such key. */
  async revoke(id: string): Promise<ApiKey | null> {
    const present = await this.#get(id);
    if (!present || present.revokedAt) return present && shown(present);
    const revokedAt = new Date().toISOString();
    await reaching('revoke an API key', () => this.#model.updateOne({ _id: id }, { $set: { revokedAt } }));
    return shown({ ...present, revokedAt });
  }

  /**
   * As {@link revoke}, but some operator key that lasts stays, whoever revokes another at the same time.
   * @throws MayflyError last_admin_key
   */
  async revokeUnlessLast(id: string): Promise<ApiKey | null> {
    const present = await this.#get(id);
    if (!present || present.revokedAt || !present.scopes.includes('operator')) return this.revoke(id);
    await endUnlessLast(this.#model, id);
    return this.get(id);
  }

  /** The key that was presented; null when it is malformed, unknown, wrong or revoked: callers learn no more. */
  async authenticate(presented: string): Promise<ApiKey | null> {
    const [, id = '', random = ''] = PRESENTED.exec(presented) ?? [];
    const document = KEY_ID.test(id) ? await this.#presented.add(id) : null;
    if (!document) return null;
    const matches = timingSafeEqual(sha256(random), Buffer.from(document.secretHash, 'hex'));
    return matches && !document.revokedAt ? shown(document) : null;
  }

  async #getAll(ids: string[]): Promise<(ApiKeyDocument | null)[]> {
    const found = await reaching('read API keys', () =>
      this.#model.find({ _id: { $in: [...new Set(ids)] } }).lean<ApiKeyDocument[]>(),
    );
    const byId = new Map(found.map((document) => [document._id, document]));
    return ids.map((id) => byId.get(id) ?? null);
  }

  async #get(id: string): Promise<ApiKeyDocument | null> {
    if (!KEY_ID.test(id)) return null;
    return reaching('read an API key', () => this.#model.findById(id).lean<ApiKeyDocument>());
  }
}

function fresh(
  id: string,
  { project = DEFAULT_PROJECT, name, scopes, diskBytes, sandboxDiskBytes, endsWithRun }: KeyWish,
) {
  const random = randomBytes(32).toString('base64url');
  const document: ApiKeyDocument = {
    _id: id,
    project,
    name,
    scopes: [...scopes],
    secretHash: sha256(random).toString('hex'),
    createdAt: new Date().toISOString(),
    revokedAt: null,
    diskBytes: diskBytes ?? null,
    sandboxDiskBytes: sandboxDiskBytes ?? null,
    ...(endsWithRun && { endsWithRun }),
  };
  return { document, secret: `mfk_${id}_${random}` };
}

/** @param random at least 6 bytes */
export function apiKeyIdFrom(random: Uint8Array): string {
  return Buffer.from(random.subarray(0, OWN_BYTES)).toString('hex');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Keys that were made before there were quotas have none; before there were projects, the first. */
function shown(document: ApiKeyDocument): ApiKey {
  const { _id, name, scopes, createdAt, revokedAt, diskBytes, sandboxDiskBytes } = document;
  const project = document.project ?? DEFAULT_PROJECT;
  const quota = { diskBytes: diskBytes ?? null, sandboxDiskBytes: sandboxDiskBytes ?? null };
  return { id: _id, project, name, scopes, createdAt, revokedAt, ...quota };
}
