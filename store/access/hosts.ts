import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { HOST_STALE_SECONDS, type HostOrders, type HostRecord, isLive, type KnownHost } from '../../model/host.ts';
import { isHostId } from '../../model/ids.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_TEXT, NUMBER, SEALED, strictPart, strictSchema } from '../mongo/schema.ts';
import { storeTime } from '../mongo/store-clock.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

type HostDocument = Omit<HostRecord, 'id'> & { _id: string; claimedAt: string | null };
type RelayDocument = RelayAddress & { _id: string };

/** Who is to serve a host id from now on. */
export type HostClaim = Pick<HostRecord, 'id' | 'installationId' | 'kind' | 'hostUuid' | 'startedAt'>;

/** Where a host's worker lets the API through to its guests, and what proves each to the other. Shown to nobody. */
export interface RelayAddress {
  url: string;
  /** Hex. */
  key: string;
}

/** What each host worker last said of its machine and its relay; `_id` = host id, written by that worker only. */
export class Hosts {
  readonly #model: Model<HostDocument>;
  /** Apart from the hosts, so that whoever reads those never has a key in hand. */
  readonly #relays: Model<RelayDocument>;

  readonly #fields: SealedFields;
  readonly #connection: Connection;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('relays');
    this.#connection = connection;
    this.#model = connection.model<HostDocument>('Host', hostSchema(), 'hosts');
    this.#relays = connection.model<RelayDocument>('Relay', relaySchema(), 'relays');
  }

  /**
   * Makes a worker the one that serves a host id, by an epoch higher than any before: whoever served it is fenced off.
   * @returns the epoch
   * @throws MayflyError host_taken when another installation serves it and was heard of lately; another_installation when
   *   what it was is of another kind, and may be this one, of before installations had ids
   */
  async claim({ id, ...claim }: HostClaim): Promise<number> {
    checkId(id);
    for (;;) {
      const [found, now] = await Promise.all([this.#find(id), this.now()]);
      if (found) refuseTaken(found, { id, ...claim }, now);
      const epoch = (found?.epoch ?? 0) + 1;
      const seen = { epoch: found?.epoch ?? { $exists: false } };
      const set = { ...claim, epoch, claimedAt: now.toISOString() };
      try {
        const { matchedCount, upsertedCount } = await reaching('claim a host', () =>
          this.#model.updateOne({ _id: id, ...seen }, { $set: set }, { upsert: found === null }),
        );
        if (matchedCount + upsertedCount > 0) return epoch;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error; // another has claimed it in between
      }
    }
  }

  /** Lets go of a host id, so that another may claim it at once. Of a worker that was fenced off, nothing. */
  async leave({ id, epoch }: Pick<HostRecord, 'id' | 'epoch'>): Promise<void> {
    checkId(id);
    await reaching('leave a host', () => this.#model.updateOne({ _id: id, epoch }, { $set: { claimedAt: null } }));
  }

  /**
   * Replaces what the host's worker says of it; what an admin said stays. When it was seen is told by the store's clock: that of a host may be wrong.
   * @throws MayflyError host_taken when another worker has claimed it since
   */
  async describe(described: Omit<HostRecord, 'lastSeenAt'> & { lastSeenAt?: string }): Promise<void> {
    const { id, epoch, drainedAt: _drained, forgottenAt: _forgotten, ...rest } = described;
    checkId(id);
    const lastSeenAt = rest.lastSeenAt ?? (await this.now()).toISOString();
    const set = { ...rest, lastSeenAt, claimedAt: lastSeenAt };
    try {
      await reaching('describe a host', () =>
        this.#model.updateOne({ _id: id, epoch }, { $set: set }, { upsert: true, runValidators: true }),
      );
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      throw new MayflyError(
        'host_taken',
        `Another host worker serves ${id} since; this one, of epoch ${epoch}, is fenced off.`,
      );
    }
  }

  /** What an admin says of the host. @returns null when nobody ever heard of it */
  async order(id: string, orders: HostOrders): Promise<KnownHost | null> {
    checkId(id);
    const [found, now] = await Promise.all([
      reaching('say what is to be done with a host', () =>
        this.#model
          .findOneAndUpdate({ _id: id }, { $set: orders }, { returnDocument: 'after', runValidators: true })
          .lean<HostDocument>(),
      ),
      this.now(),
    ]);
    return found && isDescribed(found) ? recordOf(found, now) : null;
  }

  /** All hosts ever heard of, by id, but those that were forgotten and not heard of since. */
  async list(): Promise<KnownHost[]> {
    const [found, now] = await Promise.all([
      reaching('list hosts', () => this.#model.find().lean<HostDocument[]>()),
      this.now(),
    ]);
    return found
      .filter(isDescribed)
      .filter(({ forgottenAt, lastSeenAt }) => !forgottenAt || lastSeenAt > forgottenAt)
      .map((host) => recordOf(host, now))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<KnownHost | null> {
    checkId(id);
    const [found, now] = await Promise.all([this.#find(id), this.now()]);
    return found && isDescribed(found) ? recordOf(found, now) : null;
  }

  /** The store's clock, by which all hosts are told to be alive or not. */
  now(): Promise<Date> {
    return storeTime(this.#connection);
  }

  #find(id: string): Promise<HostDocument | null> {
    return reaching('read a host', () => this.#model.findById(id).lean<HostDocument>());
  }

  /** Says where this host's relay is from now on. */
  async announceRelay(id: string, { url, key }: RelayAddress): Promise<void> {
    checkId(id);
    const relay = this.#fields.sealed(id, { url, key });
    await reaching('announce a relay', () =>
      this.#relays.updateOne({ _id: id }, { $set: relay }, { upsert: true, runValidators: true }),
    );
  }

  /** What the host's worker announced last; null when it never did. Whether it still runs is another question. */
  async relayOf(id: string): Promise<RelayAddress | null> {
    checkId(id);
    const found = await reaching('find a relay', () => this.#relays.findById(id).lean<RelayDocument>());
    if (!found) return null;
    const { url, key } = this.#fields.opened(found);
    return { url, key };
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isHostId(id)) throw new MayflyError('invalid_id', 'That is not a host id.');
}

/** One that was claimed and has not described itself yet is not known. */
function isDescribed({ capacity }: HostDocument): boolean {
  return capacity !== undefined;
}

/** Hosts that were described before there were installation ids have none. */
function recordOf({ _id, claimedAt: _claimed, ...rest }: HostDocument, now: Date): KnownHost {
  return {
    id: _id,
    ...rest,
    installationId: rest.installationId ?? null,
    hostUuid: rest.hostUuid ?? null,
    epoch: rest.epoch ?? 0,
    silentMs: now.getTime() - Date.parse(rest.lastSeenAt),
  };
}

function refuseTaken(found: HostDocument, claim: HostClaim, now: Date): void {
  const { installationId, kind, lastSeenAt, claimedAt } = found;
  const before = installationId ?? null;
  if (before === claim.installationId) return;
  if (before === null && kind !== claim.kind) {
    const why = `The host ${claim.id} was a ${kind} one, and this worker's is ${claim.kind}`;
    throw new MayflyError(
      'another_installation',
      `${why}: start it with MAYFLY_HOST=${kind}, or give it another MAYFLY_HOST_ID.`,
    );
  }
  if (before === null) return; // this one, of before it had an id, or nobody that could be told apart from it
  const silentMs = claimedAt ? now.getTime() - Date.parse(claimedAt) : Number.POSITIVE_INFINITY;
  if (!isLive({ silentMs })) return;
  const seen = `${before} (${kind}) serves the host ${claim.id}, and was heard of at ${claimedAt ?? lastSeenAt}`;
  const remedy = `Give this machine another MAYFLY_HOST_ID, or stop that worker, or wait until it was silent for ${HOST_STALE_SECONDS} s.`;
  throw new MayflyError('host_taken', `Another installation, ${seen}. ${remedy}`);
}

function relaySchema(): Schema<RelayDocument> {
  return strictSchema<RelayDocument>({ _id: NAME, url: NAME, key: SEALED });
}

function hostSchema(): Schema<HostDocument> {
  const source = strictPart({
    name: NAME,
    cloneable: { type: Boolean, required: true },
    problem: NULLABLE_TEXT,
    cpus: NUMBER,
    memoryMib: NUMBER,
    diskBytes: NUMBER,
    content: NULLABLE_TEXT,
  });
  const capacity = strictPart({
    cpus: NUMBER,
    memoryTotalMib: NUMBER,
    memoryAvailableMib: NUMBER,
    diskTotalBytes: NUMBER,
    diskAvailableBytes: NUMBER,
  });
  return strictSchema<HostDocument>({
    _id: NAME,
    installationId: NULLABLE_TEXT,
    hostUuid: NULLABLE_TEXT,
    epoch: NUMBER,
    claimedAt: NULLABLE_TEXT,
    kind: NAME,
    isolation: NAME,
    capacity: { type: capacity, required: true },
    promised: { type: strictPart({ memoryMib: NUMBER, diskBytes: NUMBER, sandboxes: NUMBER }), required: true },
    sources: [source],
    startedAt: NAME,
    lastSeenAt: NAME,
    drainedAt: NULLABLE_TEXT,
    forgottenAt: NULLABLE_TEXT,
  });
}
