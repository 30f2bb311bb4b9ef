import { Readable } from 'node:stream';
import { pino } from 'pino';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { RelayClient } from '../../host/relay/client.ts';
import { startRelay } from '../../host/relay/server.ts';
import { type ComparableSnapshots, snapshotsRoute } from '../../host/relay/snapshots.ts';
import type { Comparison, SavedFileRequest } from '../../host/snapshots.ts';
import { MayflyError } from '../../model/errors.ts';
import type { FileChange, FileChangeRecord } from '../../model/files/file-change.ts';
import { type Door, openDoor } from '../api/support.ts';
import { serveHttp } from './http-server.ts';

/** Returns an added file, with changed fields. */
export function fileChange(path: FileChange['path'], changes: Partial<FileChange> = {}): FileChange {
  return {
    change: 'added',
    path,
    from: null,
    what: [],
    type: 'file',
    size: 12,
    mode: '0644',
    uid: 0,
    gid: 0,
    mtime: '2026-11-21T10:00:00.000000001Z',
    links: 1,
    target: null,
    device: null,
    xattrs: [],
    digest: 'a'.repeat(64),
    before: null,
    ...changes,
  };
}

/** Fake snapshots of a host, with differences set by a test. */
export class ToldSnapshots implements ComparableSnapshots {
  asked: Comparison[] = [];
  records: () => AsyncIterable<FileChangeRecord> = async function* () {};
  /** Contents by snapshot id. */
  files = new Map<string, Buffer>();
  archive: () => AsyncIterable<Uint8Array> = async function* () {};
  /** Resolves when the reader of a comparison has disconnected. */
  ended = Promise.resolve();

  /** Sets the changes, with matching counts. */
  say(...changes: FileChange[]): void {
    const count = (wanted: FileChange['change']) => changes.filter(({ change }) => change === wanted).length;
    this.records = async function* () {
      for (const change of changes) yield { line: 'change', ...change };
      const counts = { added: count('added'), changed: count('changed') };
      yield { line: 'end', ...counts, removed: count('removed'), renamed: count('renamed') };
    };
  }

  compare(comparison: Comparison, signal: AbortSignal): AsyncIterable<FileChangeRecord> {
    this.asked.push(comparison);
    this.ended = new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return this.records();
  }

  async readFile({ snapshotId, path, maxBytes }: SavedFileRequest): Promise<{ content: Buffer; size: number }> {
    const file = this.files.get(snapshotId);
    if (!file) throw new MayflyError('file_not_found', `no ${JSON.stringify(path)}`);
    return { content: file.subarray(0, maxBytes), size: file.length };
  }

  changesAsTar(comparison: Comparison): Readable {
    this.asked.push(comparison);
    return Readable.from(this.archive(), { objectMode: false });
  }
}

/** API behind a real HTTP server, with the relay of the only host `kvm-1`, whose snapshots are fake. */
export interface DiffDoor {
  door: Door;
  snapshots: ToldSnapshots;
  url: string;
  client: MayflyClient;
  close(): Promise<void>;
}

export async function openDiffDoor(): Promise<DiffDoor> {
  const snapshots = new ToldSnapshots();
  const routes = { snapshots: snapshotsRoute(snapshots) };
  const relay = await startRelay({ address: '127.0.0.1', port: 0, routes, logger: pino({ level: 'silent' }) });
  const address = { url: relay.url, key: relay.key.toString('hex') };
  const store = { relays: { get: async () => address }, hosts: { get: async () => null } };
  const relays = new RelayClient(store as unknown as ConstructorParameters<typeof RelayClient>[0]);
  const door = await openDoor(relays);
  const http = await serveHttp(door.app);
  const client = new MayflyClient({ baseUrl: http.url, apiKey: await door.key('sandboxes:read', 'sandboxes:write') });
  return {
    door,
    snapshots,
    url: http.url,
    client,
    async close() {
      http.close();
      relays.close();
      await relay.close();
      await door.close();
    },
  };
}
