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

/** The pixels of a picture as words, of which one is a colour. */
export function wordsOf({ pixels }: Picture): Uint32Array | null {
  return pixels && new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / BYTES_PER_PIXEL);
}

/** Fills a rectangle with one colour, in time that grows with its pixels and no call for each row. */
export function fill(words: Uint32Array, stride: number, { x, y, width, height }: Rectangle, colour: number): void {
  for (let start = y * stride + x, row = 0; row < height; row++, start += stride) {
    for (let at = start; at < start + width; at++) words[at] = colour;
  }
}
