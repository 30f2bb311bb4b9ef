import { MayflyError } from '../../model/errors.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import { CACHE_LIFETIME_MS } from '../../store/mongo/cache-lifetime.ts';
import type { RequestDeps } from '../http/context.ts';

/** A function as events are accepted for it. */
export interface KnownFunction {
  record: FunctionRecord;
  version: FunctionVersion;
}

/** Of those that were not asked for lately the oldest are forgotten. */
const MOST = 2_000;

/** The functions that events come for: each event would read the same two documents. */
export class KnownFunctions {
  readonly #known = new Map<string, { at: number; found: Promise<KnownFunction> }>();

  /** @throws MayflyError function_not_found, function_draining */
  get({ store }: Pick<RequestDeps, 'store'>, name: string): Promise<KnownFunction> {
    const id = `${store.viewer.project}/${name}`;
    const known = this.#known.get(id);
    if (known && performance.now() - known.at < CACHE_LIFETIME_MS) return known.found;
    const entry = { at: performance.now(), found: read(store, name) };
    this.#known.delete(id);
    this.#known.set(id, entry);
    entry.found.catch(() => this.#known.get(id) === entry && this.#known.delete(id));
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST) break;
      this.#known.delete(oldest);
    }
    return entry.found;
  }
}

async function read(store: RequestDeps['store'], name: string): Promise<KnownFunction> {
  const record = await store.functions.get(name);
  const version = record && (await store.functionVersions.get(name, record.activeVersion));
  if (!version) throw new MayflyError('function_not_found', `There is no function ${name}.`);
  if (record.state === 'draining') throw new MayflyError('function_draining', `${name} is being deleted.`);
  return { record, version };
}
