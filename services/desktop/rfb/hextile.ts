import { type ByteReader, ProtocolError } from './byte-reader.ts';
import { BYTES_PER_PIXEL, drawRaw, fill, type Picture, type Rectangle, wordsOf } from './picture.ts';

/** Side of a tile that is not at the right or lower edge, pixels. */
const TILE = 16;
const IS = { raw: 1, background: 2, foreground: 4, subrectangles: 8, coloured: 16 };

/** Limit of how often subrectangles may paint a whole tile: those of real servers do not overlap. */
const MOST_LAYERS = 4;

/** Colours, which carry over from one tile to the next. */
interface Colours {
  background: number;
  foreground: number;
}

/** Draws the Hextile encoding of RFC 6143 §7.7.4: tiles of 16 × 16 pixels, most with one or two colours. */
export async function drawHextile(reader: ByteReader, picture: Picture, whole: Rectangle): Promise<void> {
  const colours: Colours = { background: 0, foreground: 0 };
  const words = wordsOf(picture);
  for (let y = whole.y; y < whole.y + whole.height; y += TILE) {
    for (let x = whole.x; x < whole.x + whole.width; x += TILE) {
      const width = Math.min(TILE, whole.x + whole.width - x);
      const height = Math.min(TILE, whole.y + whole.height - y);
      await drawTile(reader, picture, { x, y, width, height }, colours, words);
    }
  }
}

async function drawTile(
  reader: ByteReader,
  picture: Picture,
  tile: Rectangle,
  colours: Colours,
  words: Uint32Array | null,
): Promise<void> {
  const kind = await reader.u8();
  if (kind & IS.raw) return drawRaw(reader, picture, tile);
  if (kind & IS.background) colours.background = (await reader.bytes(BYTES_PER_PIXEL)).readUInt32LE();
  if (kind & IS.foreground) colours.foreground = (await reader.bytes(BYTES_PER_PIXEL)).readUInt32LE();
  if (words) fill(words, picture.width, tile, colours.background);
  if (!(kind & IS.subrectangles)) return;
  const isColoured = (kind & IS.coloured) !== 0;
  const size = 2 + (isColoured ? BYTES_PER_PIXEL : 0);
  const all = await reader.bytes((await reader.u8()) * size);
  let painted = 0;
  for (let at = 0; at < all.length; at += size) {
    const colour = isColoured ? all.readUInt32LE(at) : colours.foreground;
    const rectangle = within(tile, all.readUInt16BE(at + size - 2));
    painted += rectangle.width * rectangle.height;
    if (painted > MOST_LAYERS * TILE * TILE) throw new ProtocolError('a tile is painted over and over');
    if (words) fill(words, picture.width, rectangle, colour);
  }
}

/** Returns a subrectangle: four bits each of x, y, width - 1 and height - 1. @throws ProtocolError */
function within(tile: Rectangle, packed: number): Rectangle {
  const [x, y] = [packed >> 12, (packed >> 8) & 15];
  const [width, height] = [((packed >> 4) & 15) + 1, (packed & 15) + 1];
  if (x + width > tile.width || y + height > tile.height) throw new ProtocolError('a rectangle leaves its tile');
  return { x: tile.x + x, y: tile.y + y, width, height };
}
