import type { ByteReader } from './byte-reader.ts';

export const BYTES_PER_PIXEL = 4;

/** The pixels of a screen: red, green, blue, and one byte that means nothing. */
export interface Picture {
  width: number;
  height: number;
  /** Row by row; null where nobody wants to see them. */
  pixels: Buffer | null;
}

/** One that was looked at. */
export type Drawn = Picture & { pixels: Buffer };

/** Within a picture. */
export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Takes the pixels of a rectangle as they are. */
export async function drawRaw(reader: ByteReader, picture: Picture, rectangle: Rectangle): Promise<void> {
  const { x, y, width, height } = rectangle;
  const length = width * BYTES_PER_PIXEL;
  for (let row = y; row < y + height; row++) {
    const at = (row * picture.width + x) * BYTES_PER_PIXEL;
    if (picture.pixels) await reader.into(picture.pixels.subarray(at, at + length));
    else await reader.skip(length);
  }
}

/** Fills a rectangle with one colour, which is four bytes. */
export function fill(picture: Picture, { x, y, width, height }: Rectangle, colour: Buffer): void {
  const { pixels } = picture;
  if (pixels === null || width === 0) return;
  for (let row = y; row < y + height; row++) {
    const at = (row * picture.width + x) * BYTES_PER_PIXEL;
    pixels.fill(colour, at, at + width * BYTES_PER_PIXEL);
  }
}
