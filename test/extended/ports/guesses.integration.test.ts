import { expect, onTestFinished, test, vi } from 'vitest';
import { LIMITS } from '../../../model/limits.ts';
import type { IngressDoor } from '../../ports/ingress-door.ts';
import { usePrograms } from '../../ports/programs.ts';

let door: IngressDoor;
const programs = usePrograms((opened) => (door = opened));

test('guesses are looked for in the store so many times a second, and refused then; a port that is known goes on', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] }); // what is under way is looked at now and then, and would be counted
  onTestFinished(() => void vi.useRealTimers());
  const port = await programs.mirror();
  const headers = { 'x-mayfly-token': await door.expose(port) };
  const ask = async (sandboxId = door.ports.id, more: object = headers) =>
    (await door.get(door.hostOf(port, sandboxId), '/', { headers: { ...more } })).status;
  expect(await ask()).toBe(200);
  vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await ask()).toBe(200); // read anew, if that was long ago
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
  // The clock stands: what was read then is known still, and nothing was read anew for a wrong token.
  expect(reads).toHaveBeenCalledTimes(most);
});
