import { deriveRunId, type RunRecord } from '../model/functions/run.ts';
import type { Store } from '../store/connect.ts';
import type { QueueRules } from '../store/functions/queue/run-queue.ts';
import { type Bench, withStore } from './support/bench.ts';
import { type Figures, Samples } from './support/measure.ts';

const FEW = 10;
const MANY = { quick: 1_000, full: 100_000 };
const AT_ONCE = 1_000;
const RUNS = { quick: 20, full: 100 };
const RULES: QueueRules = { concurrency: [{ limit: 100, key: '/k', onFull: 'queue' }], throttle: null };

/** Measures the admission of the next run of a queue of 10 and of a long one, in one store, alternating. */
export async function measureQueue(bench: Bench): Promise<Figures> {
  const { client, source, isQuick } = bench;
  const samples = new Samples();
  const length = isQuick ? MANY.quick : MANY.full;
  await withStore(bench, async (store) => {
    const queue = async (name: string, count: number) => {
      await client.functions.deploy(name, { source, command: 'true' });
      await client.functions.pause(name);
      const { id } = await client.runs.create(name);
      const run = await store.runs.get(id);
      if (!run) throw new Error(`${id} is not in the store`);
      const filled = new Queue(store, name, run);
      await filled.fill(count);
      return filled;
    };
    const [few, many] = [await queue('few', FEW), await queue('many', length)];
    await samples.rounds({ runs: isQuick ? RUNS.quick : RUNS.full, warmUp: 20 }, async (counted) => {
      await few.admit(counted);
      await many.admit(counted);
    });
  });
  const pairs = [{ what: `admission, of ${length} queued`, ours: 'many', beside: 'few', most: { times: 1.2 } }];
  return { spreads: samples.spreads(), pairs };
}

/** Queue of a paused function, filled with copies of one run. */
class Queue {
  #count = 0;
  #after = '';

  constructor(
    private readonly store: Store,
    private readonly name: string,
    private readonly run: RunRecord,
  ) {}

  async fill(count: number): Promise<void> {
    for (let left = count; left > 0; left -= AT_ONCE) {
      const runs = Array.from({ length: Math.min(left, AT_ONCE) }, () => this.#copy());
      await Promise.all(runs.map((run) => this.store.runs.accept(run, Buffer.alloc(100, 'x'))));
    }
  }

  /** Admits a run, ends it, and adds another one. */
  async admit(samples: Samples): Promise<void> {
    const { store, name } = this;
    const at = new Date().toISOString();
    const { run, key } = await samples.time(name, async () => {
      const ref = { project: 'default', name };
      const next = (await store.runQueue.next(ref, this.#after)) ?? (await store.runQueue.next(ref, ''));
      if (!next || (await store.runQueue.admit(next.run, RULES, at))) throw new Error(`none of ${name} is admitted`);
      return next;
    });
    this.#after = key;
    await store.runs.end(run.id, ['preparing'], { outcome: 'succeeded', endedAt: at }, 30);
    await store.runs.free(run.id, { cleanup: 'proved' });
    await this.fill(1);
  }

  #copy(): RunRecord {
    const n = ++this.#count;
    const key = JSON.stringify(`customer-${n % 1_000}`);
    const dedupe = `${this.name}/${n}`;
    return { ...this.run, id: deriveRunId(dedupe, 0), dedupe, keys: [key], lane: key, seq: n % 1_000_000 };
  }
}
