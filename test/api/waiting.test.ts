import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Hono } from 'hono';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../api/http/context.ts';
import { waitWithin } from '../../api/http/waiting.ts';

const deps = { logger: pino({ level: 'silent' }) };

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

describe('waiting', () => {
  it('ends on time, also when garbage is collected meanwhile', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const app = new Hono<Env>().get('/', async (c) => {
      await waitWithin(c, deps, 1, untilAborted);
      return c.text('over');
    });
    const collecting = setInterval(collect, 20);
    try {
      expect(await (await app.request('/')).text()).toBe('over');
    } finally {
      clearInterval(collecting);
    }
  });

  it('passes on what is wrong with the saga', async () => {
    const app = new Hono<Env>().get('/', async (c) => {
      await waitWithin(c, deps, 1, () => Promise.reject(new Error('broken')));
      return c.text('over');
    });
    expect((await app.request('/')).status).toBe(500);
  });
});
