import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import { BYTES_PER_PIXEL, type Drawn } from './picture.ts';

const packed = promisify(deflate);

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** Eight bits each of red, green and blue; the only compression, filters and order of rows that there are. */
const TRUE_COLOUR = Buffer.from('0802000000', 'hex');
const CHANNELS = 3;
/** Each row as what differs from the row above: most of a screen is as the row above. */
const FILTER_UP = 2;

/** A picture as a PNG file (RFC 2083). */
export async function pngOf({ width, height, pixels }: Drawn): Promise<Buffer> {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const rows = await packed(filtered({ width, height, pixels }), { level: 4 });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([head, TRUE_COLOUR])),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function filtered({ width, height, pixels }: Drawn): Buffer {
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
