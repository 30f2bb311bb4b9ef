import { MayflyError } from '../../model/errors.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { getScalarText } from '../../model/events/json-pointer.ts';
import type { FunctionRecord, FunctionSpec, FunctionVersion } from '../../model/functions/function.ts';
import type { Gathering, RunRecord } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { TtlCache } from '../ttl-cache.ts';

/** Function as events are accepted for it. */
export interface CachedFunction {
  record: FunctionRecord;
  version: FunctionVersion;
}

/** Cache of the functions that events come for: each event would read the same two documents. */
export class FunctionCache {
  readonly #functions = new TtlCache<CachedFunction>({ maxEntries: 2_000 });

  /** @throws MayflyError function_not_found, function_draining */
  get({ store }: Pick<ServiceDeps, 'store'>, name: string): Promise<CachedFunction> {
    return this.#functions.get(`${store.viewer.project}/${name}`, () => read(store, name));
  }
}

async function read(store: ServiceDeps['store'], name: string): Promise<CachedFunction> {
  const record = await store.functions.get(name);
  const version = record && (await store.functionVersions.get(name, record.activeVersion));
  if (!version) throw new MayflyError('function_not_found', `There is no function ${name}.`);
  if (record.state === 'draining') throw new MayflyError('function_draining', `${name} is being deleted.`);
  return { record, version };
}

/** Keys by which a run is queued. */
export type QueueKeys = Pick<RunRecord, 'keys' | 'throttleKey' | 'lane' | 'gatheringKey'>;

/**
 * Returns the values at the keys of a function's rules. A run's lane is its key of the first `cancel-running` rule,
 * else its first key.
 * @throws MayflyError key_invalid
 */
export function queueKeysOf({ concurrency, throttle, debounce, batch }: FunctionSpec, event: ReceivedEvent): QueueKeys {
  const keys = concurrency.map(({ key }) => keyAt(key, event));
  const throttleKey = keyAt(throttle?.key ?? null, event);
  const superseding = concurrency.findIndex(({ onFull }) => onFull === 'cancel-running');
  const first = [...keys, throttleKey].find((key) => key !== null) ?? null;
  const gatheringKey = keyAt((debounce ?? batch)?.key ?? null, event);
  return { keys, throttleKey, gatheringKey, lane: superseding < 0 ? first : (keys[superseding] ?? null) };
}

export function gatheringOf({ debounce, batch }: FunctionSpec): Gathering | null {
  if (debounce) {
    const { periodSeconds, maxWaitSeconds } = debounce;
    return { kind: 'debounce', periodMs: periodSeconds * 1_000, maxWaitMs: maxWaitSeconds * 1_000 };
  }
  return batch && { kind: 'batch', maxSize: batch.maxSize, maxWaitMs: batch.maxWaitSeconds * 1_000 };
}

function keyAt(pointer: string | null, event: ReceivedEvent): string | null {
  if (pointer === null) return null;
  const text = getScalarText(event, pointer);
  if (text === undefined) return 'null';
  if (text !== null && Buffer.byteLength(text) <= LIMITS.functions.keyBytes) return text;
  const problem = text === null ? 'is an object or a list' : `has more than ${LIMITS.functions.keyBytes} bytes`;
  const fields = [{ field: `data${pointer}`, problem }];
  throw new MayflyError('key_invalid', `What the key ${pointer} points to ${problem}.`, { fields });
}
