import { inflateSync } from 'node:zlib';

const FILTER_UP = 2;

export interface Pixels {
  width: number;
  height: number;
  /** Returns red, green and blue, as `ff0000`. */
  at(x: number, y: number): string;
  /** Returns the centre of all pixels of a colour; null: none. */
  middleOf(colour: string): { x: number; y: number } | null;
}

/**
 * Decodes the PNG of services/desktop/rfb/picture.ts: 8 bits of three colours, rows as differences to the previous one.
 */
export function pixelsOf(png: Uint8Array): Pixels {
  const file = Buffer.from(png);
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const length = file.readUInt32BE(33); // after the signature and IHDR
  const rows = inflateSync(file.subarray(41, 41 + length));
  const stride = width * 3;
  const all = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const from = row * (stride + 1);
    if (rows[from] !== FILTER_UP) throw new Error('a row is told in a way that is not read here');
    for (let n = 0; n < stride; n++) {
      const above = row === 0 ? 0 : (all[(row - 1) * stride + n] ?? 0);
      all[row * stride + n] = (rows[from + 1 + n] ?? 0) + above;
    }
  }
  const at = (x: number, y: number) => all.toString('hex', (y * width + x) * 3, (y * width + x) * 3 + 3);
  return {
    width,
    height,
    at,
    middleOf(colour) {
      const places: [number, number][] = [];
      for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (at(x, y) === colour) places.push([x, y]);
      const middle = (axis: 0 | 1) => {
        const sorted = places.map((place) => place[axis]).sort((a, b) => a - b);
        return sorted[sorted.length >> 1] ?? 0;
      };
      return places.length === 0 ? null : { x: middle(0), y: middle(1) };
    },
  };
}
