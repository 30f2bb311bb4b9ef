import { describe, expect, test } from 'vitest';
import { KeyedMutex } from '../../host/os/keyed-mutex.ts';

const ID = 'sbx-0000000000000001';
const never = new AbortController().signal;

/** Waits a turn of the event loop, in which requested steps start. */
function begun(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('KeyedMutex', () => {
  test('a step starts only after the end of the previous one, even of one that ignores its signal', async () => {
    const mutex = new KeyedMutex();
    const log: string[] = [];
    const { opened, open } = gate();
    const first = mutex.run(ID, 1, never, async () => {
      log.push('first begins');
      await opened;
      log.push('first ends');
    });
    await begun();
    const second = mutex.run(ID, 1, never, async () => {
      log.push('second');
    });
    await begun();
    expect(log).toEqual(['first begins']);
    open();
    await Promise.all([first, second]);
    expect(log).toEqual(['first begins', 'first ends', 'second']);
  });

  test('the next step aborts the previous one with stale_attempt', async () => {
    const mutex = new KeyedMutex();
    const first = mutex.run(ID, 1, never, (signal) => {
      return new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    });
    await begun();
    const second = mutex.run(ID, 2, never, async () => 'undone');
    await expect(first).rejects.toMatchObject({ code: 'stale_attempt' });
    await expect(second).resolves.toBe('undone');
  });

  test('steps of different sandboxes run concurrently', async () => {
    const mutex = new KeyedMutex();
    const { opened, open } = gate();
    const first = mutex.run(ID, 1, never, () => opened);
    await mutex.run('sbx-0000000000000002', 1, never, async () => open());
    await first;
  });

  test('a step of an older generation is refused, also while it waits', async () => {
    const mutex = new KeyedMutex();
    const { opened, open } = gate();
    const running = mutex.run(ID, 1, never, () => opened);
    await begun();
    const ran: number[] = [];
    const waiting = mutex.run(ID, 1, never, async () => ran.push(1));
    const refused = expect(waiting).rejects.toMatchObject({ code: 'stale_attempt' });
    const newest = mutex.run(ID, 3, never, async () => ran.push(3));
    await expect(mutex.run(ID, 2, never, async () => ran.push(2))).rejects.toMatchObject({ code: 'stale_attempt' });
    open();
    await Promise.all([running, newest, refused]);
    expect(ran).toEqual([3]);
  });

  test('an aborted wait keeps the next one waiting for the running step', async () => {
    const mutex = new KeyedMutex();
    const { opened, open } = gate();
    let ended = false;
    const running = mutex.run(ID, 1, never, async () => {
      await opened;
      ended = true;
    });
    await begun();
    const abort = new AbortController();
    const waiting = mutex.run(ID, 1, abort.signal, async () => 'not run');
    abort.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    const next = mutex.run(ID, 1, never, async () => ended);
    open();
    await running;
    await expect(next).resolves.toBe(true);
  });

  test('a failed step frees the lock', async () => {
    const mutex = new KeyedMutex();
    await expect(mutex.run(ID, 1, never, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(mutex.run(ID, 1, never, async () => 'yes')).resolves.toBe('yes');
  });

  test('memory stays bounded, and running steps are never evicted', async () => {
    const mutex = new KeyedMutex();
    const { opened, open } = gate();
    const running = mutex.run(ID, 7, never, () => opened);
    for (let i = 0; i < 10_100; i++) await mutex.run(`other-${i}`, 1, never, async () => {});
    expect(mutex.size).toBeLessThanOrEqual(10_001);
    await expect(mutex.run(ID, 6, never, async () => {})).rejects.toMatchObject({ code: 'stale_attempt' });
    open();
    await running;
  });

  test('a late attempt never runs after a newer one of its activity, but may after others', async () => {
    const mutex = new KeyedMutex();
    const { opened, open } = gate();
    const attempt = (activity: string, nth: number) => ({ activity, nth });
    const second = mutex.run(ID, 1, never, async () => opened.then(() => 'done'), attempt('a', 2));
    const first = mutex.run(ID, 1, never, async () => 'made twice', attempt('a', 1));
    await expect(first).rejects.toMatchObject({ code: 'stale_attempt' });
    open();
    expect(await second).toBe('done');
    expect(await mutex.run(ID, 1, never, async () => 'next', attempt('b', 1))).toBe('next');
    expect(await mutex.run(ID, 1, never, async () => 'again', attempt('b', 2))).toBe('again');
  });
});
