import { expect, test } from 'vitest';
import { Traffic } from '../../api/ingress/traffic.ts';
import { LIMITS } from '../../model/limits.ts';

const target = { sandboxId: 'sbx-0000000000000001', port: 3_000 };

test('so many requests a second may come to a port, and no more, and another port has its own', () => {
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
