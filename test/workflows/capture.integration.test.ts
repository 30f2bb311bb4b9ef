import { describe, expect } from 'vitest';
import { CapturedSource, expectFailed } from '../support/captured-source.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf, sweepOn } from '../support/sweep.ts';

const STEPS = SAGA_POINTS.capture.steps;
const UNDOS = ['thawSource', 'abortCapture', 'removeCapture', 'releaseCapture'] as const;

interface MemorySource extends CapturedSource {
  /** Reports whether the source is not frozen. */
  moves(): boolean;
}

const test = useSagaCases({ kind: 'in-memory' }).alone.extend<{ source: MemorySource }>({
  source: async ({ mayfly }, use) => {
    const { memory } = mayfly;
    if (!memory) throw new Error('there is no machine in memory');
    const source = new CapturedSource(mayfly);
    memory.images.set(source.name, { files: new Map([['name', source.name]]), isRunning: true, baked: null });
    await use(Object.assign(source, { moves: () => !memory.frozen.has(source.name) }));
    mayfly.disarm();
    await source.clear();
    memory.images.delete(source.name);
  },
});

const sweep = sweepOn(test);

describe.concurrent('a step', () => {
  sweep([...pairsOf(STEPS, ['before', 'after']), ...pairsOf(['beginCapture', 'verifyCapture'], ['during'])])(
    '%s that fails %s its effect leaves no residue, and the source continues',
    async ([step, where], { mayfly, source }) => {
      const id = source.newId();
      mayfly.arm(`${step}.${where}=error`, id);
      expectFailed(await source.taken(id), step);
      expect(await source.onHost()).toEqual([]);
      expect(await source.reserved()).toEqual([]);
      expect(source.moves()).toBe(true);
      expect(await source.audit()).toEqual(['capture.requested', 'capture.failed']);
      mayfly.arm(undefined, id);
      expect(await source.taken()).toMatchObject({ state: 'ready' });
    },
  );

  sweep(STEPS)('%s, repeated after a dead worker, is one capture', async (step, { mayfly, source }) => {
    const captureId = source.newId();
    mayfly.arm(`${step}.after=2*error(host_unavailable)`, captureId);
    expect(await source.taken(captureId)).toMatchObject({ state: 'ready' });
    expect(await source.onHost()).toEqual([{ captureId, state: 'whole' }]);
    expect(source.moves()).toBe(true);
  });
});

describe.concurrent('a capture', () => {
  sweep(UNDOS)(
    'with a failing compensation retries it until it succeeds, and records it: %s',
    async (step, { mayfly, source }) => {
      const id = source.newId();
      mayfly.arm(`keepCapture.after=error;${step}.before=error`, id);
      await source.begin('create', id);
      await source.waitsFor(id, step);
      mayfly.arm(undefined, id);
      expectFailed(await source.ended(id), 'keepCapture');
      expect(await source.onHost()).toEqual([]);
      expect(await source.reserved()).toEqual([]);
    },
  );
});
