import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DEFAULT_INTERVALS } from '../../model/intervals.ts';

/** Above this share of a core, something happens, and V8 collects by itself. */
const IDLE_SHARE = 0.05;
/** Below this, a collection is not worth the 50 to 100 ms for which it stops everything. Bytes. */
const WORTHWHILE_BYTES = 4 * 1_048_576;

/**
 * Gives back what work has left, once there is none. V8 collects when something is allocated, so an idle process would
 * keep the garbage of its start, a fifth of its memory, for hours.
 * @returns what ends it
 */
export function collectWhenIdle(everyMs = DEFAULT_INTERVALS.collectMs): () => Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let kept = 0;
  let before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    const isIdle = user + system < IDLE_SHARE * everyMs * 1_000;
    if (!isIdle || getHeapStatistics().used_heap_size < kept + WORTHWHILE_BYTES) return;
    collect();
    kept = getHeapStatistics().used_heap_size;
  }, everyMs).unref();
  return async () => clearInterval(timer);
}
