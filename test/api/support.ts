import { pino } from 'pino';
import { afterAll, beforeAll } from 'vitest';
import { createApp } from '../../api/app.ts';
import { openApiDocument } from '../../api/description/openapi.ts';
import type { App, AppDeps } from '../../api/http/context.ts';
import { MayflyError } from '../../model/errors.ts';
import type { HostRecord } from '../../model/host.ts';
import { SCOPES, type Scope } from '../../model/scopes.ts';
import type { Guests } from '../../services/guests.ts';
import type { Problem } from '../../services/problems/problem.ts';
import type { Store } from '../../store/connect.ts';
import { hostRecord } from '../support/host-record.ts';
import { openStore } from '../support/open-store.ts';
import { startStoreServer } from '../support/store-server.ts';
import { Watchdog } from '../support/watchdog.ts';
import { type ImmediateSagas, immediateSagas } from './immediate-sagas.ts';

/** Returns the JSON of an answer, typed as the test expects it. */
export async function jsonOf<T>(response: Response | Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

export const problemOf = (response: Response | Promise<Response>) => jsonOf<Problem>(response);

export function host(id: string, changes: Partial<HostRecord> = {}): HostRecord {
  const now = Date.now();
  return hostRecord(id, {
    capacity: { cpus: 2, memoryTotalMib: 8_192, memoryAvailableMib: 5, diskTotalBytes: 9, diskAvailableBytes: 1 },
    sources: [{ name: 'golden', cloneable: true, problem: null, cpus: 1, memoryMib: 64, diskBytes: 1 }],
    startedAt: new Date(now).toISOString(),
    lastSeenAt: new Date(now + 3_600_000).toISOString(), // no worker refreshes it, however long a test takes
    ...changes,
  });
}

export async function keysByScope(make: (scope: Scope) => Promise<string>): Promise<Record<Scope, string>> {
  const entries = await Promise.all(SCOPES.map(async (scope) => [scope, await make(scope)]));
  return Object.fromEntries(entries) as Record<Scope, string>;
}

type Document = ReturnType<typeof openApiDocument>;

export interface Door {
  app: App;
  store: Store;
  sagas: ImmediateSagas;
  /** Sends a request with an operator's key, or with the one in `key`; an object as body becomes JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>, key?: string): Promise<Response>;
  key: { (...scopes: Scope[]): Promise<string>; in(project: string, ...scopes: Scope[]): Promise<string> };
  close(): Promise<void>;
}

/** Fake guests that refuse every request. */
export const noGuests: Guests = {
  request: (hostId) => Promise.reject(new MayflyError('host_unavailable', `The test has no guests on ${hostId}.`)),
};

/** Asserts that a route's documentation names every problem it answers, by status and code. */
function refuseUndocumented(document: Document, method: string, path: string, response: Response): void {
  const code = response.headers.get('X-Mayfly-Code');
  if (code === null || response.status === 405) return; // method not allowed
  const pathname = path.split('?')[0] ?? '';
  const isRoute = (route: string) => new RegExp(`^${route.replace(/\{(path|\w+)\}/g, parameter)}$`).test(pathname);
  const [, item] = Object.entries(document.paths ?? {}).find(([route]) => isRoute(route)) ?? [];
  const operation = item?.[(method === 'HEAD' ? 'get' : method.toLowerCase()) as 'get'];
  if (!operation) return; // unknown route or method
  const named: { description?: string } = operation.responses?.[String(response.status)] ?? {};
  if (named.description?.includes(`\`${code}\``)) return;
  throw new Error(
    `${operation.operationId} answered ${response.status} ${code}, which its documentation does not name`,
  );
}

/** Returns a parameter's pattern; a file's path has slashes. */
function parameter(_whole: string, name: string): string {
  return name === 'path' ? '.*' : '[^/]+';
}

/** Opens the whole API on its own store, with one live host that has the source `golden`. */
export async function openDoor(guests = noGuests, more: Pick<AppDeps, 'queueLimits'> = {}): Promise<Door> {
  const server = await startStoreServer();
  const store = await openStore(server.uri, { auditKey: Buffer.alloc(32, 1) });
  await store.hosts.describe(host('kvm-1'));
  const sagas = immediateSagas(store);
  const watchdog = new Watchdog();
  const own = { version: '0.0.0', logger: pino({ level: 'silent' }), traceRequest: watchdog.middleware };
  const app = createApp({ store, sagas, guests, ...own, ...more });
  const keyIn = async (project: string, ...scopes: Scope[]) =>
    (await store.apiKeys.create({ name: 'test', project, scopes })).secret;
  const key = Object.assign((...scopes: Scope[]) => keyIn('default', ...scopes), { in: keyIn });
  const operator = await key('operator');
  const document = openApiDocument(app, '0.0.0');
  return {
    app,
    store,
    sagas,
    key,
    call: async (method, path, body, headers = {}, secret = operator) => {
      const response = await app.request(path, {
        method,
        headers: {
          Authorization: `Bearer ${secret}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      refuseUndocumented(document, method, path, response);
      watchdog.check();
      return response;
    },
    close: async () => {
      await store.close();
      await server.stop();
    },
  };
}

/** Runs {@link openDoor} in the next `beforeAll`, for the tests of a file. */
export function useDoor(...given: Parameters<typeof openDoor>): Door {
  const door = {} as Door;
  beforeAll(async () => void Object.assign(door, await openDoor(...given)));
  afterAll(() => door.close?.());
  return door;
}
