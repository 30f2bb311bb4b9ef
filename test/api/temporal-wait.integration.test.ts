import { expect, test } from 'vitest';
import { useMayfly } from '../support/mayfly.ts';

const mayfly = useMayfly();

test('a wait ends when its signal fires, however long the server would hold it', async () => {
  const { id } = await mayfly().create();
  const waiting = new AbortController();
  const began = Date.now();
  setTimeout(() => waiting.abort(new Error('long enough')), 300);
  await expect(mayfly().sagas.ended(id, waiting.signal)).rejects.toThrow('long enough');
  expect(Date.now() - began).toBeLessThan(3_000);
});

test('a wait for an update and for an end go on over many rounds with the server', async () => {
  const input = mayfly().input({}, { verifySshMs: 30_000, cleanupMs: 30_000 });
  mayfly().failpoints.arm('verifySsh.before=delay(11000);removeDomain.before=1*delay(11000)');
  expect((await mayfly().create(input)).state).toBe('running');
  expect((await mayfly().destroy(input)).state).toBe('destroyed');
});
