import { expect, onTestFinished, test, vi } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import type { IngressDoor } from '../../ports/ingress-door.ts';
import { usePrograms } from '../../ports/programs.ts';

let door: IngressDoor;
const programs = usePrograms((opened) => (door = opened));

test('unknown ports are read from the store at a limited rate, and refused beyond it; a known port still works', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] }); // the periodic check of open connections would count as reads
  onTestFinished(() => void vi.useRealTimers());
  const port = await programs.mirror();
  const headers = { 'x-mayfly-token': await door.expose(port) };
  const ask = async (sandboxId = door.ports.id, more: object = headers) =>
    (await door.get(door.hostOf(port, sandboxId), '/', { headers: { ...more } })).status;
  expect(await ask()).toBe(200);
  vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await ask()).toBe(200); // read again, if the cache entry is old
  const reads = vi.spyOn(door.ports.door.store.exposedPorts, 'get');
  const most = LIMITS.ports.guessesPerSecond;
  const guesses = Array.from({ length: most + 10 }, (_, n) => ask(`sbx-${n.toString(16).padStart(16, '0')}`));
  expect((await Promise.all(guesses)).toSorted((a, b) => a - b)).toEqual([
    ...Array(most).fill(404),
    ...Array(10).fill(429),
  ]);
  expect(reads).toHaveBeenCalledTimes(most);

  expect(await ask(door.ports.id, { 'x-mayfly-token': 'mfp_a.wrong' })).toBe(404);
  expect(await ask()).toBe(200);
  // The clock stands still: cached entries are valid, and a wrong token causes no read.
  expect(reads).toHaveBeenCalledTimes(most);
});
