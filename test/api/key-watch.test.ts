// Guards: streams of a key end when the key is revoked, and survive an outage of the store. A second.
import { afterEach, expect, it, vi } from 'vitest';
import { KeyWatch } from '../../services/streams/streams.ts';

const looks = vi.fn<(id: string) => Promise<{ revokedAt: string | null } | null>>();
const requestOf = (id: string) => ({ apiKey: { id }, deps: { store: { apiKeys: { get: looks } } } }) as never;
afterEach(() => looks.mockReset());

it.each([{ revokedAt: '2026-01-01T00:00:00Z' }, null])(
  'ends all streams of the key, and no other: %j',
  async (revoked) => {
    const watch = new KeyWatch();
    looks.mockResolvedValue({ revokedAt: null });
    const ends = [vi.fn(), vi.fn(), vi.fn()];
    const over = ['one', 'one', 'other'].map((id, n) => watch.endWithKey(requestOf(id), ends[n] ?? vi.fn()));
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(1);
    expect(looks.mock.calls.filter(([id]) => id === 'one').length).toBeLessThan(4);
    looks.mockRejectedValueOnce(new Error('the store is away'));
    looks.mockImplementation(async (id) => (id === 'one' ? revoked : { revokedAt: null }));
    await expect.poll(() => ends[0]?.mock.calls.length).toBeGreaterThan(0);
    expect(ends[1]).toHaveBeenCalled();
    expect(ends[2]).not.toHaveBeenCalled();
    for (const end of over) end();
  },
);
