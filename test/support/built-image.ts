import type { BuildImage, Image } from '../../clients/typescript/http/openapi.ts';
import type { Images } from '../../clients/typescript/images.ts';
import { isImageFinal } from '../../model/image/image.ts';
import { eventually } from './eventually.ts';

/** Timeout on an emulated machine, ms. */
const PATIENCE_MS = 1_200_000;

/** Builds an image on real machines; logs its states on standard error. @returns its final record and duration */
export async function builtImage(images: Images, wish: BuildImage): Promise<{ image: Image; ms: number }> {
  const began = performance.now();
  const { id } = await images.build(wish);
  const times = new Map<string, string>();
  const look = async () => {
    const image = await images.get(id);
    const at = [image.state, image.done, image.waitingFor].filter((part) => part !== null).join(' ');
    if (!times.has(at)) times.set(at, `${((performance.now() - began) / 1_000).toFixed(1)} s`);
    return image;
  };
  const image = await eventually(look, ({ state }) => isImageFinal(state), PATIENCE_MS);
  process.stderr.write(`${wish.name}: ${JSON.stringify([...times])}\n`);
  return { image, ms: performance.now() - began };
}
