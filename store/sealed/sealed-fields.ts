import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { isSealed, type Seal } from './seal.ts';

/**
 * What is sealed, by collection: what callers say, what guests print, and what opens a relay. Everything else is looked
 * for, ordered by, or ours.
 */
const SEALED: Readonly<Record<string, readonly string[]>> = {
  sandboxes: ['spec.metadata', 'failure.message', 'waitingFor'],
  snapshots: ['failure.message'],
  pools: ['reason'],
  captures: ['failure.message', 'waitingFor'],
  bakedSources: ['failure.message', 'waitingFor'],
  sources: ['failure.message', 'waitingFor'],
  templates: ['reason', 'waitingFor'],
  images: ['request', 'failure', 'waitingFor', 'begin'],
  imageContexts: ['archive', 'secrets'],
  sentContexts: ['context'],
  sentContextPieces: ['bytes'],
  playbooks: ['base', 'written', 'check', 'unchecked', 'failure', 'waitingFor'],
  playbookParts: ['bytes'],
  functionVersions: ['spec'],
  functionFiles: ['bytes'],
  functionSetups: ['wish', 'failure', 'log', 'waitingFor'],
  hooks: ['secrets', 'filter'],
  webhookEndpoints: ['url', 'secrets'],
  webhookDeliveries: ['body', 'attempts'],
  schedules: ['event', 'past'],
  scheduleTimes: ['detail'],
  bulks: ['filter', 'refusals'],
  runs: [
    'failure',
    'event',
    'eventJson',
    'keys',
    'throttleKey',
    'lane',
    'gatheringKey',
    'events',
    'attempts',
    'result',
    'artifacts',
  ],
  waitpoints: ['data'],
  runContents: ['bytes'],
  secretValues: ['value'],
  attemptSecrets: ['secrets'],
  receipts: ['envelope'],
  commands: ['spec', 'failure.message', 'reason'],
  launches: ['env', 'stdin', 'secretFiles'],
  output: ['bytes', 'marks'],
  idempotency: ['bodyDigest', 'answer'],
  mcpSessions: ['opening'],
  mcpEvents: ['message'],
  exposedPorts: ['secret'],
  policies: ['rules'],
  approvals: ['request', 'rules', 'reason'],
  audit: ['body'],
  auditQueue: ['body'],
  relays: ['key'],
};
type Fields = Record<string, unknown>;

/**
 * What else than `_id` a document is bound by: an entry of the audit by its hash, which says in which chain and where, so that
 * one that was moved is known as that.
 */
const BOUND_BY: Readonly<Record<string, string>> = { audit: 'hash' };

/** Of which there is something to seal. */
export const SEALED_COLLECTIONS = Object.keys(SEALED);

/** Seals fields of the documents of one collection before they are written, and opens them when they were read. */
export class SealedFields {
  readonly #paths: readonly string[];
  readonly #boundBy: string;

  constructor(
    private readonly seal: Seal | null,
    private readonly collection: string,
  ) {
    this.#paths = SEALED[collection] ?? [];
    this.#boundBy = BOUND_BY[collection] ?? '_id';
  }

  /**
   * All of a document, or what is changed of it. What is absent or empty stays so.
   * @param id by which the document is bound
   * @throws MayflyError payload_key_unusable without a key
   */
  sealed<T extends object>(id: string, fields: T): T {
    return this.#each(fields, (value, field) =>
      isEmpty(value) ? value : this.#having().seal(this.#at(id, field), value),
    );
  }

  /**
   * A document as it was before it was sealed; one from before there was sealing as it is.
   * @throws MayflyError payload_key_unusable, record_damaged
   */
  opened<T extends object>(document: T): T {
    const id = this.#idOf(document);
    return this.#each(document, (value, field) =>
      isSealed(value) ? this.#having().open(this.#at(id, field), value) : value,
    );
  }

  /** As {@link opened}, but null where it was changed, or stood elsewhere. @throws MayflyError payload_key_unusable */
  openedIfWhole<T extends object>(document: T): T | null {
    try {
      return this.opened(document);
    } catch (error) {
      if (isMayflyError(error, 'record_damaged')) return null;
      throw error;
    }
  }

  /**
   * What of a document is in the clear, or sealed with another key than the one that seals now, and what it would be: by path.
   * @returns null when that is nothing
   * @throws MayflyError payload_key_unusable, record_damaged
   */
  resealed(document: object): { seen: Fields; set: Fields } | null {
    const seal = this.#having();
    const id = this.#idOf(document);
    const seen: Fields = {};
    const set: Fields = {};
    this.#each(document, (value, field) => {
      if (isEmpty(value) || seal.isCurrent(value)) return value;
      const place = this.#at(id, field);
      seen[field] = value;
      set[field] = seal.seal(place, isSealed(value) ? seal.open(place, value) : value);
      return value;
    });
    return Object.keys(set).length > 0 ? { seen, set } : null;
  }

  #each<T extends object>(fields: T, change: (value: unknown, field: string) => unknown): T {
    let changed: Fields = fields as Fields;
    for (const path of this.#paths) changed = mapped(changed, path.split('.'), (value) => change(value, path));
    return changed as T;
  }

  #idOf(document: object): string {
    return String((document as Fields)[this.#boundBy]);
  }

  #at(id: string, field: string) {
    return { collection: this.collection, id, field };
  }

  #having(): Seal {
    if (this.seal) return this.seal;
    const why = `the collection \`${this.collection}\` is encrypted, and this process was given no key`;
    throw new MayflyError('payload_key_unusable', `The store cannot be understood: ${why}.`);
  }
}

function mapped(fields: Fields, [name, ...rest]: readonly string[], change: (value: unknown) => unknown): Fields {
  const value = name === undefined ? undefined : fields[name];
  if (name === undefined || value === undefined || value === null) return fields;
  const next = rest.length === 0 ? change(value) : mapped(value as Fields, rest, change);
  return { ...fields, [name]: next };
}

/** It says nothing, and the living are often read all at once. */
function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (value as { length?: number }).length === 0;
}
