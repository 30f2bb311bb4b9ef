import { useTestDoor } from './door.ts';
import { TestImages } from './images.ts';
import { useSagaCases } from './saga-cases.ts';

/** Extends {@link useSagaCases} by the API and builds, which are removed after each test. */
export function useImageCases() {
  const { alone, mayfly } = useSagaCases();
  const door = useTestDoor(mayfly);
  const test = alone.extend<{ images: TestImages }>({
    images: async ({ mayfly: own, operations }, use) => {
      const images = new TestImages(own, operations, door);
      await use(images);
      own.disarm();
      await images.clear();
    },
  });
  return { test, mayfly, door: () => door };
}
