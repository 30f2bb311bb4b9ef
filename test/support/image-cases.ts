import { afterAll, beforeAll } from 'vitest';
import { TestDoor } from './door.ts';
import { TestImages } from './images.ts';
import { useSagaCases } from './saga-cases.ts';

/** {@link useSagaCases} with the API before it, and with what each test builds, which goes at its end. */
export function useImageCases() {
  const { alone, mayfly } = useSagaCases();
  let door: TestDoor | undefined;
  beforeAll(async () => {
    door = await TestDoor.open(mayfly());
  });
  afterAll(() => door?.close());
  const opened = (): TestDoor => {
    if (!door) throw new Error('the API is not open yet');
    return door;
  };
  const test = alone.extend<{ images: TestImages }>({
    images: async ({ mayfly: own, operations }, use) => {
      const images = new TestImages(own, operations, opened());
      await use(images);
      own.disarm();
      await images.clear();
    },
  });
  return { test, mayfly, door: opened };
}
