import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import type { App } from '../../api/http/context.ts';
import type { Guests } from '../../api/http/guests.ts';
import type { Problem } from '../../api/http/problem.ts';
import { MayflyError } from '../../model/errors.ts';
import type { HostRecord } from '../../model/host.ts';
import type { Scope } from '../../model/scopes.ts';
import { connectStore, type Store } from '../../store/connect.ts';
import { startStoreServer } from '../support/store-server.ts';
import { ImmediateSagas } from './immediate-sagas.ts';

/** The JSON of an answer, as the test expects it to be. */
export async function jsonOf<T>(response: Response | Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

export const problemOf = (response: Response | Promise<Response>) => jsonOf<Problem>(response);

export function host(id: string, changes: Partial<HostRecord> = {}): HostRecord {
  return {
    id,
    kind: 'simulated',
    isolation: 'none',
    capacity: { cpus: 2, memoryTotalMib: 10, memoryAvailableMib: 5, diskTotalBytes: 9, diskAvailableBytes: 1 },
    promised: { memoryMib: 0, diskBytes: 0, sandboxes: 0 },
    sources: [{ name: 'golden', cloneable: true, problem: null, cpus: 1, memoryMib: 64, diskBytes: 1 }],
    startedAt: new Date().toISOString(),
    lastSeenAt: new Date().toISOString(),
    ...changes,
  };
}

export interface Door {
  app: App;
  store: Store;
  sagas: ImmediateSagas;
  /** Sends a request with the admin key, or with the one in `key`; an object as body becomes JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>, key?: string): Promise<Response>;
  key(...scopes: Scope[]): Promise<string>;
  close(): Promise<void>;
}

/** For what reaches no guest. */
const noGuests: Guests = {
  request: (hostId) => Promise.reject(new MayflyError('host_unavailable', `The test has no guests on ${hostId}.`)),
};

/** The whole API on a store of its own, with one live host that has the source `golden`. */
export async function openDoor(guests = noGuests): Promise<Door> {
  const server = await startStoreServer();
  const store = await connectStore(server.uri, { auditKey: Buffer.alloc(32, 1) });
  await store.hosts.describe(host('kvm-1'));
  const sagas = new ImmediateSagas(store);
  const app = createApp({ store, sagas, guests, version: '0.0.0', logger: pino({ level: 'silent' }) });
  const key = async (...scopes: Scope[]) => (await store.apiKeys.create({ name: 'test', scopes })).secret;
  const admin = await key('admin');
  return {
    app,
    store,
    sagas,
    key,
    call: async (method, path, body, headers = {}, secret = admin) =>
      app.request(path, {
        method,
        headers: {
          Authorization: `Bearer ${secret}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    close: async () => {
      await store.close();
      await server.stop();
    },
  };
}
