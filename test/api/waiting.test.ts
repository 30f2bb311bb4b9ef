import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { waitWithin } from '../../services/waiting.ts';

const deps = { logger: pino({ level: 'silent' }) };
const limit = { seconds: 1, signal: new AbortController().signal, requestId: 'r' };

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

describe('waiting', () => {
  it('ends on time, also during garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collecting = setInterval(collect, 20);
    try {
      expect(await waitWithin(deps, limit, untilAborted)).toBe(false);
    } finally {
      clearInterval(collecting);
    }
  });

  it('rethrows an error of the saga', async () => {
    await expect(waitWithin(deps, limit, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});
