import { type ByteReader, ProtocolError } from './byte-reader.ts';
import { BYTES_PER_PIXEL, drawRaw, fill, type Picture, type Rectangle } from './picture.ts';

/** Of a tile that is not at the right or lower edge. Pixels. */
const TILE = 16;
const IS = { raw: 1, background: 2, foreground: 4, subrectangles: 8, coloured: 16 };

/** The Hextile encoding of RFC 6143 §7.7.4: tiles of 16 × 16 pixels, most of which a screen has in one or two colours. */
export async function drawHextile(reader: ByteReader, picture: Picture, whole: Rectangle): Promise<void> {
  const colours = { background: Buffer.alloc(BYTES_PER_PIXEL), foreground: Buffer.alloc(BYTES_PER_PIXEL) };
  for (let y = whole.y; y < whole.y + whole.height; y += TILE) {
    for (let x = whole.x; x < whole.x + whole.width; x += TILE) {
      const width = Math.min(TILE, whole.x + whole.width - x);
      const height = Math.min(TILE, whole.y + whole.height - y);
      await drawTile(reader, picture, { x, y, width, height }, colours);
    }
  }
}

/** Colours stay from one tile to the next. */
async function drawTile(
  reader: ByteReader,
  picture: Picture,
  tile: Rectangle,
  colours: { background: Buffer; foreground: Buffer },
): Promise<void> {
  const kind = await reader.u8();
  if (kind & IS.raw) return drawRaw(reader, picture, tile);
  if (kind & IS.background) colours.background = await reader.bytes(BYTES_PER_PIXEL);
  if (kind & IS.foreground) colours.foreground = await reader.bytes(BYTES_PER_PIXEL);
  fill(picture, tile, colours.background);
  if (!(kind & IS.subrectangles)) return;
  const isColoured = (kind & IS.coloured) !== 0;
  const size = 2 + (isColoured ? BYTES_PER_PIXEL : 0);
  const all = await reader.bytes((await reader.u8()) * size);
  for (let at = 0; at < all.length; at += size) {
    const colour = isColoured ? all.subarray(at, at + BYTES_PER_PIXEL) : colours.foreground;
    fill(picture, within(tile, all.readUInt16BE(at + size - 2)), colour);
  }
}

/** Four bits each of x, y, and of width and height less one. @throws ProtocolError */
function within(tile: Rectangle, packed: number): Rectangle {
  const [x, y] = [packed >> 12, (packed >> 8) & 15];
  const [width, height] = [((packed >> 4) & 15) + 1, (packed & 15) + 1];
  if (x + width > tile.width || y + height > tile.height) throw new ProtocolError('a rectangle leaves its tile');
  return { x: tile.x + x, y: tile.y + y, width, height };
}
