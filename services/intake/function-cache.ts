import { MayflyError } from '../../model/errors.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { TtlCache } from '../ttl-cache.ts';

/** A function as events are accepted for it. */
export interface KnownFunction {
  record: FunctionRecord;
  version: FunctionVersion;
}

/** Caches the functions that events come for: each event would read the same two documents. */
export class FunctionCache {
  readonly #functions = new TtlCache<KnownFunction>({ maxEntries: 2_000 });

  /** @throws MayflyError function_not_found, function_draining */
  get({ store }: Pick<ServiceDeps, 'store'>, name: string): Promise<KnownFunction> {
    return this.#functions.get(`${store.viewer.project}/${name}`, () => read(store, name));
  }
}

async function read(store: ServiceDeps['store'], name: string): Promise<KnownFunction> {
  const record = await store.functions.get(name);
  const version = record && (await store.functionVersions.get(name, record.activeVersion));
  if (!version) throw new MayflyError('function_not_found', `There is no function ${name}.`);
  if (record.state === 'draining') throw new MayflyError('function_draining', `${name} is being deleted.`);
  return { record, version };
}
