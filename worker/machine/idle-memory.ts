import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DEFAULT_INTERVALS } from '../../model/intervals.ts';

/** Share of a core above which the process is busy, and V8 collects on its own. */
const IDLE_SHARE = 0.05;
/** Garbage below which a collection is not worth its pause of 50 to 100 ms, bytes. */
const WORTHWHILE_BYTES = 4 * 1_048_576;

/**
 * Collects garbage once the process is idle. V8 collects on allocation, so an idle process would keep the garbage of
 * its start, a fifth of its memory, for hours.
 * @returns stops it
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
