import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type ApiKey, apiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { ID_BYTES } from '../../model/ids.ts';
import type { Scope } from '../../model/scopes.ts';
import type { StorageQuota } from '../../model/snapshots/storage.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { repositoryOf } from '../repository/repository.ts';
import { type ApiKeyDocument, endUnlessLast, keyInternals } from './last-operator.ts';

type KeyRequest = {
  name: string;
  project: string;
  scopes: readonly Scope[];
  /** True when its creator revokes it on exit. `@default` false */
  endsWithRun?: boolean;
} & Partial<StorageQuota>;

/** Created key; `secret` is the full text that is presented. */
interface NewKey {
  key: ApiKey;
  secret: string;
}

const isId = (id: string) => /^[0-9a-f]{12}$/.test(id);
/** Bytes of a key's id. */
const OWN_BYTES = 6;
/** `mfk_`, the key's id, and 256 random bits in base64url. Secret scanners can match the prefix. */
const KEY_PATTERN = /^mfk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

/**
 * API keys. The secret has 256 random bits, so a fast hash suffices; a slow one (bcrypt, scrypt) protects passwords
 * that people choose, and would cost every request 50 ms or more.
 */
export class ApiKeys extends repositoryOf({
  collection: 'apiKeys',
  noun: 'an API key',
  isId,
  model: apiKey,
  internal: keyInternals,
  required: ['project'],
}) {
  /** Groups reads of concurrent requests; each read starts after its key was presented. */
  readonly #presented = new GroupCommit((ids: string[]) => this.#getAll(ids));

  /**
   * Creates a key. `secret` is the full key, which is known only now.
   * @throws MayflyError stale_attempt when that id exists
   */
  async create(wish: KeyRequest, id = apiKeyIdFrom(randomBytes(ID_BYTES))): Promise<NewKey> {
    const { document, secret } = newKeyDocument(id, wish);
    if (await this.insert(document)) return { key: this.recordOf(document), secret };
    throw new MayflyError('stale_attempt', `The API key ${id} has been made meanwhile.`);
  }

  /**
   * As {@link create}, with a given id. A repeated call replaces the secret and refuses the previous one.
   * @returns null when the key was revoked, or belongs to another project or name
   */
  async ensure(id: string, wish: KeyRequest): Promise<NewKey | null> {
    const { document, secret } = newKeyDocument(id, wish);
    const key = (await this.insert(document)) ? this.recordOf(document) : await this.#renew(document);
    return key && { key, secret };
  }

  /** Renews only a key of the same project and name. */
  async #renew({ _id, project, name, secretHash }: ApiKeyDocument): Promise<ApiKey | null> {
    return this.setAndRead({ _id, project, name, revokedAt: null }, { secretHash });
  }

  /** Returns null for an unknown key: internal ones and those of tests have no quota. */
  async get(id: string): Promise<ApiKey | null> {
    return isId(id) ? this.findById(id) : null;
  }

  /** Returns the keys with a quota. */
  async limited(): Promise<ApiKey[]> {
    const keys = await this.list();
    return keys.filter(({ diskBytes, sandboxDiskBytes }) => diskBytes !== null || sandboxDiskBytes !== null);
  }

  /** Changes the storage quota; omitted fields stay. Returns null for an unknown key. */
  async limit(id: string, quota: Partial<StorageQuota>): Promise<ApiKey | null> {
    return isId(id) ? this.setAndRead({ _id: id }, quota) : null;
  }

  /** Lists all keys, also revoked ones, oldest first. */
  async list(): Promise<ApiKey[]> {
    const found = await this.documents({});
    return found.map(this.recordOf).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  }

  /** Revokes a key; a revoked one keeps its first date. Returns null for an unknown key. */
  async revoke(id: string): Promise<ApiKey | null> {
    const present = await this.get(id);
    if (!present || present.revokedAt) return present;
    return this.setAndRead({ _id: id }, { revokedAt: new Date().toISOString() });
  }

  /**
   * As {@link revoke}, but at least one permanent operator key stays, even under concurrent revocations.
   * @throws MayflyError last_admin_key
   */
  async revokeUnlessLast(id: string): Promise<ApiKey | null> {
    const present = await this.get(id);
    if (!present || present.revokedAt || !present.scopes.includes('operator')) return this.revoke(id);
    await endUnlessLast(this.model, id);
    return this.get(id);
  }

  /** Returns the presented key; null when malformed, unknown, wrong or revoked, which callers cannot distinguish. */
  async authenticate(presented: string): Promise<ApiKey | null> {
    const [, id = '', random = ''] = KEY_PATTERN.exec(presented) ?? [];
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

function newKeyDocument(id: string, { project, name, scopes, diskBytes, sandboxDiskBytes, endsWithRun }: KeyRequest) {
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
