import type mongoose from 'mongoose';
import { MayflyError } from '../model/errors.ts';
import { ApiKeys } from './access/api-keys.ts';
import { Certificates } from './access/certificates.ts';
import { Hosts } from './access/hosts.ts';
import { Idempotency } from './access/idempotency.ts';
import { Serials } from './access/serials.ts';
import { Audit } from './audit/audit.ts';
import { ChainKey } from './audit/audit-chain.ts';
import { StoredCommandInputs } from './commands/command-inputs.ts';
import { Commands } from './commands/commands.ts';
import { Output } from './commands/output.ts';
import { bringUpToDate } from './layout.ts';
import { reaching } from './mongo/failure.ts';
import { openConnection } from './mongo/open.ts';
import { AuditRetention } from './retention/audit-retention.ts';
import { Retention } from './retention/retention.ts';
import { Activities } from './sandboxes/activity.ts';
import { MeasuredDisks } from './sandboxes/measured-disks.ts';
import { ReconciledThings } from './sandboxes/reconciled.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';
import { BakedSources } from './snapshots/baked-sources.ts';
import { Captures } from './snapshots/captures.ts';
import { Snapshots } from './snapshots/snapshots.ts';
import { Sources } from './snapshots/sources.ts';

export interface Store {
  sandboxes: Sandboxes;
  snapshots: Snapshots;
  captures: Captures;
  commands: Commands;
  commandInputs: StoredCommandInputs;
  output: Output;
  audit: Audit;
  idempotency: Idempotency;
  apiKeys: ApiKeys;
  hosts: Hosts;
  measuredDisks: MeasuredDisks;
  serials: Serials;
  sources: Sources;
  bakedSources: BakedSources;
  certificates: Certificates;
  activity: Activities;
  reconciled: ReconciledThings;
  retention: Retention;
  auditRetention: AuditRetention;
  /** Resolves when the server answers. @throws MayflyError store_unavailable */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  /** At least 32 bytes; without it the audit can be read, but neither appended to nor verified. */
  auditKey?: Uint8Array;
  /** How long a call waits for a server that is away, before it fails with `store_unavailable`. `@default` 3 s */
  absenceMs?: number;
}

/**
 * Connects to MongoDB, or to the embedded store. The database is the one that the address names.
 * `@default` database `mayfly`
 * @throws MayflyError store_unavailable
 * @throws RangeError when the audit key is too short
 */
export async function connectStore(uri: string, options: StoreOptions = {}): Promise<Store> {
  const auditKey = options.auditKey ? new ChainKey(options.auditKey) : null;
  const connection = await open(uri, options.absenceMs);
  return {
    sandboxes: new Sandboxes(connection),
    snapshots: new Snapshots(connection),
    captures: new Captures(connection),
    commands: new Commands(connection),
    commandInputs: new StoredCommandInputs(connection),
    output: new Output(connection),
    audit: new Audit(connection, auditKey),
    idempotency: new Idempotency(connection),
    apiKeys: new ApiKeys(connection),
    hosts: new Hosts(connection),
    measuredDisks: new MeasuredDisks(connection),
    serials: new Serials(connection),
    sources: new Sources(connection),
    bakedSources: new BakedSources(connection),
    certificates: new Certificates(connection),
    activity: new Activities(connection),
    reconciled: new ReconciledThings(connection),
    retention: new Retention(connection),
    auditRetention: new AuditRetention(connection, auditKey),
    ping: () => reaching('a ping', async () => void (await connection.db?.command({ ping: 1 }))),
    close: () => connection.close(),
  };
}

async function open(uri: string, absenceMs?: number): Promise<mongoose.Connection> {
  const connection = await openConnection(uri, absenceMs);
  try {
    await bringUpToDate(connection);
    return connection;
  } catch (error) {
    await connection.close();
    if (error instanceof MayflyError) throw error;
    throw new MayflyError('store_unavailable', 'No connection to the store that MONGODB_URI names.', { cause: error });
  }
}
