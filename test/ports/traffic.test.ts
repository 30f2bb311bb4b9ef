import { expect, test, vi } from 'vitest';
import { LIMITS } from '../../model/limits.ts';
import { Traffic } from '../../services/ingress/traffic.ts';

const target = { sandboxId: 'sbx-0000000000000001', port: 3_000 };

test.each([
  ['a key', null],
  ['a token of it', 'secret'],
])('a connection opened by %s ends when the key is revoked', async (_by, secret) => {
  let isRevoked = false;
  const known = { readNow: async () => ({ port: { secret: 'secret' } }), keyOf: async () => (isRevoked ? null : {}) };
  const traffic = new Traffic(known as never);
  const end = vi.fn();
  traffic.add({ target, token: { secret, apiKeyId: 'k' }, expiresAt: null, end });
  const looked = vi.spyOn(known, 'keyOf');
  await expect.poll(() => looked.mock.calls.length).toBeGreaterThan(0);
  expect(end).not.toHaveBeenCalled();
  isRevoked = true;
  await expect.poll(() => end.mock.calls.length).toBeGreaterThan(0);
  traffic.close();
});

test('requests per second are limited per port', () => {
  const traffic = new Traffic({ readNow: async () => null } as never);
  const untilRefused = (of: typeof target) => {
    for (let n = 0; ; n++) {
      try {
        traffic.count(of);
      } catch (error) {
        expect(error).toMatchObject({ code: 'too_many_requests', options: { retryAfterSeconds: 1 } });
        return n;
      }
    }
  };
  const began = performance.now();
  const first = untilRefused(target);
  const earned = ((performance.now() - began) / 1_000) * LIMITS.ports.requestsPerSecond;
  expect(first).toBeGreaterThanOrEqual(LIMITS.ports.requestsPerSecond);
  expect(first).toBeLessThanOrEqual(LIMITS.ports.requestsPerSecond + earned + 1);
  expect(untilRefused({ ...target, port: 3_001 })).toBeGreaterThanOrEqual(LIMITS.ports.requestsPerSecond);
  traffic.close();
});
