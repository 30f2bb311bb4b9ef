import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type ApiKey, apiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { ID_BYTES } from '../../model/ids.ts';
import type { Scope } from '../../model/scopes.ts';
import type { StorageQuota } from '../../model/snapshots/storage.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { repositoryOf } from '../repository/repository.ts';
import { type ApiKeyDocument, endUnlessLast, keyInternals } from './last-operator.ts';

type KeyWish = {
  name: string;
  project: string;
  scopes: readonly Scope[];
  /** Whether whoever makes it ends it too, when it stops. `@default` false */
  endsWithRun?: boolean;
} & Partial<StorageQuota>;

/** A key that was made; `secret` is the whole of it, as it is presented. */
interface NewKey {
  key: ApiKey;
  secret: string;
}

const isId = (id: string) => /^[0-9a-f]{12}$/.test(id);
/** Bytes of a key's id. */
const OWN_BYTES = 6;
/** `mfk_`, the key's id, and 256 random bits in base64url: a prefix that secret scanners can know. */
const PRESENTED = /^mfk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

/**
 * API keys. The secret has 256 random bits, so nobody can guess it from its hash however quick the hash is; a slow
 * hash (bcrypt, scrypt) protects what people choose themselves, and would cost every request 50 ms or more.
 */
export class ApiKeys extends repositoryOf({
  collection: 'apiKeys',
  noun: 'an API key',
  isId,
  model: apiKey,
  internal: keyInternals,
  required: ['project'],
}) {
  /** Those of requests that come at once are read at once, and none before it was presented. */
  readonly #presented = new GroupCommit((ids: string[]) => this.#getAll(ids));

  /**
   * Makes a key. `secret` is the whole key as it is presented; this is the only time that it is known.
   * @throws MayflyError stale_attempt when there is one of that id
   */
  async create(wish: KeyWish, id = apiKeyIdFrom(randomBytes(ID_BYTES))): Promise<NewKey> {
    const { document, secret } = fresh(id, wish);
    if (await this.insert(document)) return { key: this.recordOf(document), secret };
    throw new MayflyError('stale_attempt', `The API key ${id} has been made meanwhile.`);
  }

  /**
   * As {@link create}, with that id. Made again, a key has another secret, and the one before is refused.
   * @returns null when it has been made, and revoked, before
   */
  async ensure(id: string, wish: KeyWish): Promise<NewKey | null> {
    const { document, secret } = fresh(id, wish);
    const key = (await this.insert(document)) ? this.recordOf(document) : await this.#renew(document);
    return key && { key, secret };
  }

  /** Only what was made of the same wish. */
  async #renew({ _id, project, name, secretHash }: ApiKeyDocument): Promise<ApiKey | null> {
    return this.setAndRead({ _id, project, name, revokedAt: null }, { secretHash });
  }

  /** Null when there is no such key: those of tests, and of what nobody asked for, have no quota. */
  async get(id: string): Promise<ApiKey | null> {
    return isId(id) ? this.findById(id) : null;
  }

  /** The keys that have a quota. */
  async limited(): Promise<ApiKey[]> {
    const keys = await this.list();
    return keys.filter(({ diskBytes, sandboxDiskBytes }) => diskBytes !== null || sandboxDiskBytes !== null);
  }

  /** Changes how much may be stored; what is not named stays. Null when there is no such key. */
  async limit(id: string, quota: Partial<StorageQuota>): Promise<ApiKey | null> {
    return isId(id) ? this.setAndRead({ _id: id }, quota) : null;
  }

  /** All keys, also revoked ones, oldest first. */
  async list(): Promise<ApiKey[]> {
    const found = await this.documents({});
    return found.map(this.recordOf).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  }

  /** Ends a key at once; one that is revoked already keeps its first date. Null when there is no such key. */
  async revoke(id: string): Promise<ApiKey | null> {
    const present = await this.get(id);
    if (!present || present.revokedAt) return present;
    return this.setAndRead({ _id: id }, { revokedAt: new Date().toISOString() });
  }

  /**
   * As {@link revoke}, but some operator key that lasts stays, whoever revokes another at the same time.
   * @throws MayflyError last_admin_key
   */
  async revokeUnlessLast(id: string): Promise<ApiKey | null> {
    const present = await this.get(id);
    if (!present || present.revokedAt || !present.scopes.includes('operator')) return this.revoke(id);
    await endUnlessLast(this.model, id);
    return this.get(id);
  }

  /** The key that was presented; null when it is malformed, unknown, wrong or revoked: callers learn no more. */
  async authenticate(presented: string): Promise<ApiKey | null> {
    const [, id = '', random = ''] = PRESENTED.exec(presented) ?? [];
    const document = isId(id) ? await this.#presented.add(id) : null;
    if (!document) return null;
    const matches = timingSafeEqual(sha256(random), Buffer.from(document.secretHash, 'hex'));
    return matches && !document.revokedAt ? this.recordOf(document) : null;
  }

  async #getAll(ids: string[]): Promise<(ApiKeyDocument | null)[]> {
    const found = await this.documents({ _id: { $in: [...new Set(ids)] } });
    const byId = new Map(found.map((document) => [document._id, document]));
    return ids.map((id) => byId.get(id) ?? null);
  }
}

function fresh(id: string, { project, name, scopes, diskBytes, sandboxDiskBytes, endsWithRun }: KeyWish) {
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
