import type { Connection, Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import type { HostOrders, HostRecord } from '../../model/host.ts';
import { isHostId } from '../../model/ids.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_TEXT, NUMBER, strictPart, strictSchema } from '../mongo/schema.ts';

type HostDocument = Omit<HostRecord, 'id'> & { _id: string };
type RelayDocument = RelayAddress & { _id: string };

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

  constructor(connection: Connection) {
    this.#model = connection.model<HostDocument>('Host', hostSchema(), 'hosts');
    this.#relays = connection.model<RelayDocument>('Relay', relaySchema(), 'relays');
  }

  /** Replaces what the host's worker says of it; what an admin said stays. */
  async describe({ id, drainedAt: _drained, forgottenAt: _forgotten, ...rest }: HostRecord): Promise<void> {
    checkId(id);
    await reaching('describe a host', () =>
      this.#model.updateOne({ _id: id }, { $set: rest }, { upsert: true, runValidators: true }),
    );
  }

  /** What an admin says of the host. @returns null when nobody ever heard of it */
  async order(id: string, orders: HostOrders): Promise<HostRecord | null> {
    checkId(id);
    const found = await reaching('say what is to be done with a host', () =>
      this.#model
        .findOneAndUpdate({ _id: id }, { $set: orders }, { returnDocument: 'after', runValidators: true })
        .lean<HostDocument>(),
    );
    return found && recordOf(found);
  }

  /** All hosts ever heard of, by id, but those that were forgotten and not heard of since. */
  async list(): Promise<HostRecord[]> {
    const found = await reaching('list hosts', () => this.#model.find().lean<HostDocument[]>());
    const known = found.map(recordOf).filter(({ forgottenAt, lastSeenAt }) => !forgottenAt || lastSeenAt > forgottenAt);
    return known.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<HostRecord | null> {
    checkId(id);
    const found = await reaching('read a host', () => this.#model.findById(id).lean<HostDocument>());
    return found && recordOf(found);
  }

  /** Says where this host's relay is from now on. */
  async announceRelay(id: string, { url, key }: RelayAddress): Promise<void> {
    checkId(id);
    await reaching('announce a relay', () =>
      this.#relays.updateOne({ _id: id }, { $set: { url, key } }, { upsert: true, runValidators: true }),
    );
  }

  /** What the host's worker announced last; null when it never did. Whether it still runs is another question. */
  async relayOf(id: string): Promise<RelayAddress | null> {
    checkId(id);
    const found = await reaching('find a relay', () => this.#relays.findById(id).lean<RelayDocument>());
    return found && { url: found.url, key: found.key };
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isHostId(id)) throw new MayflyError('invalid_id', 'That is not a host id.');
}

function recordOf({ _id, ...rest }: HostDocument): HostRecord {
  return { id: _id, ...rest };
}

function relaySchema(): Schema<RelayDocument> {
  return strictSchema<RelayDocument>({ _id: NAME, url: NAME, key: NAME });
}

function hostSchema(): Schema<HostDocument> {
  const source = strictPart({
    name: NAME,
    cloneable: { type: Boolean, required: true },
    problem: NULLABLE_TEXT,
    cpus: NUMBER,
    memoryMib: NUMBER,
    diskBytes: NUMBER,
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
