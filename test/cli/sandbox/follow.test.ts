import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { waitSignal } from '../../../cli/sandbox/sandbox-text.ts';
import { quietIo } from '../run-line.ts';

/** Returns a promise held only by its listener, like a waiting stream. */
function untilAborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
}

describe('the signal of a wait', () => {
  it('fires on time, also during garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collecting = setInterval(runInNewContext('gc') as () => void, 20);
    try {
      const reason = await untilAborted(waitSignal(quietIo(), 1).signal);
      expect(reason).toMatchObject({ message: '1 s are over' });
    } finally {
      clearInterval(collecting);
    }
  });

  it('fires at Ctrl-C, also at an earlier one', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(waitSignal(quietIo(controller.signal), 60).signal);
    controller.abort('interrupted');
    expect(await waiting).toBe('interrupted');
    expect(waitSignal(quietIo(controller.signal), 60).signal.aborted).toBe(true);
  });
});
