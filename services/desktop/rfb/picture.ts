import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import type { ByteReader } from './byte-reader.ts';

export const BYTES_PER_PIXEL = 4;

/** Pixels of a screen: red, green, blue, and one unused byte. */
export interface Picture {
  width: number;
  height: number;
  /** Row by row; null when the pixels are discarded. */
  pixels: Buffer | null;
}

/** Picture with its pixels. */
export type PictureWithPixels = Picture & { pixels: Buffer };

/** Rectangle within a picture. */
export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Reads the raw pixels of a rectangle. */
export async function drawRaw(reader: ByteReader, picture: Picture, rectangle: Rectangle): Promise<void> {
  const { x, y, width, height } = rectangle;
  const length = width * BYTES_PER_PIXEL;
  for (let row = y; row < y + height; row++) {
    const at = (row * picture.width + x) * BYTES_PER_PIXEL;
    if (picture.pixels) await reader.into(picture.pixels.subarray(at, at + length));
    else await reader.skip(length);
  }
}

/** Returns a picture's pixels as 32-bit words. */
export function wordsOf({ pixels }: Picture): Uint32Array | null {
  return pixels && new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / BYTES_PER_PIXEL);
}

/** Fills a rectangle with one colour, in linear time without a call per row. */
export function fill(words: Uint32Array, stride: number, { x, y, width, height }: Rectangle, colour: number): void {
  for (let start = y * stride + x, row = 0; row < height; row++, start += stride) {
    for (let at = start; at < start + width; at++) words[at] = colour;
  }
}

const deflateAsync = promisify(deflate);

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** Rest of IHDR: 8 bits per channel, RGB; the only compression, filter method and interlacing used. */
const TRUE_COLOUR = Buffer.from('0802000000', 'hex');
const CHANNELS = 3;
/** Filter Up, each row as its difference from the row above: most rows of a screen repeat the one above. */
const FILTER_UP = 2;

/** Returns a picture as a PNG file (RFC 2083). */
export async function pngOf({ width, height, pixels }: PictureWithPixels): Promise<Buffer> {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const rows = await deflateAsync(applyFilter({ width, height, pixels }), { level: 4 });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([head, TRUE_COLOUR])),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function applyFilter({ width, height, pixels }: PictureWithPixels): Buffer {
  const stride = width * BYTES_PER_PIXEL;
  const out = Buffer.alloc(height * (1 + width * CHANNELS));
  let to = 0;
  for (let row = 0; row < height; row++) {
    out[to++] = FILTER_UP;
    for (let from = row * stride; from < (row + 1) * stride; from += BYTES_PER_PIXEL) {
      for (let channel = from; channel < from + CHANNELS; channel++) {
        const above = row === 0 ? 0 : (pixels[channel - stride] ?? 0);
        out[to++] = (pixels[channel] ?? 0) - above;
      }
    }
  }
  return out;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checked = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(checked));
  return Buffer.concat([length, checked, sum]);
}
