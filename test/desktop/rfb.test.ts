import { createHash } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../../services/desktop/rfb/byte-reader.ts';
import { passwordFile, passwordsOf } from '../../services/desktop/rfb/password.ts';
import { pngOf } from '../../services/desktop/rfb/picture.ts';
import { VncClient } from '../../services/desktop/rfb/screen.ts';
import { ownProcessorMs } from '../support/processor-time.ts';
import { RECORDED } from './recorded.ts';

// Guards: the client works with a real server, and bounds every buffer, wait and value of a hostile one. Costs 0.5 s.

/** Returns a server that sends everything in chunks of `size`, and then ends. */
function saying(bytes: Uint8Array, size = bytes.length || 1) {
  const sent: Buffer[] = [];
  async function* incoming() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return {
    sent,
    wire: { write: (part: Uint8Array) => void sent.push(Buffer.from(part)), end: () => {}, incoming: incoming() },
  };
}

const u16 = (...values: number[]) => Buffer.concat(values.map((value) => Buffer.of(value >> 8, value & 255)));
const u32 = (value: number) => Buffer.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
const VERSION = Buffer.from('RFB 003.008\n');
/** Handshake without a password, up to the size of the screen. */
const OPEN = Buffer.concat([VERSION, Buffer.of(1, 1), u32(0)]);
const hello = (width: number, height: number, name = 0) =>
  Buffer.concat([OPEN, u16(width, height), Buffer.alloc(16), u32(name)]);
const rectangle = (x: number, y: number, width: number, height: number, encoding: number) =>
  Buffer.concat([u16(x, y, width, height), u32(encoding)]);
const update = (...rectangles: Buffer[]) => Buffer.concat([Buffer.of(0, 0), u16(rectangles.length), ...rectangles]);
const RAW = 0;
const HEXTILE = 5;

async function pictured(bytes: Uint8Array, size?: number) {
  const screen = await VncClient.open(saying(bytes, size).wire, async () => RECORDED.password);
  return screen.picture();
}

describe('the output of a real server', () => {
  it.each([1, 7, 4_096])('is a picture, in chunks of %d bytes', async (size) => {
    const { sent, wire } = saying(RECORDED.said, size);
    const picture = await (await VncClient.open(wire, async () => RECORDED.password)).picture();
    expect(createHash('sha256').update(picture.pixels).digest('hex')).toBe(RECORDED.pixels);
    expect(Buffer.concat(sent).equals(RECORDED.sent)).toBe(true);
  });

  it('truncated at any byte is an error, and never hangs', async () => {
    for (let length = 0; length < RECORDED.said.length; length++) {
      await expect(pictured(RECORDED.said.subarray(0, length))).rejects.toThrow(ProtocolError);
    }
  });

  it('with any byte changed is a picture or a protocol error', async () => {
    for (let at = 0; at < RECORDED.said.length; at++) {
      const changed = Buffer.from(RECORDED.said);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      const outcome = await pictured(changed).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ProtocolError);
      else expect(outcome).toMatchObject({ width: expect.any(Number), height: expect.any(Number) });
    }
  });
});

describe('a hostile server', () => {
  const hextile = (...tile: number[]) => update(Buffer.concat([rectangle(0, 0, 20, 20, HEXTILE), Buffer.from(tile)]));
  it.each<[string, Buffer]>([
    ['speaks HTTP', Buffer.from('HTTP/1.1 200 OK\r\n\r\n')],
    ['speaks an older RFB', Buffer.from('RFB 003.003\n')],
    ['refuses for a reason of 4 GiB', Buffer.concat([VERSION, Buffer.of(0), u32(0xffff_ffff)])],
    ['knows no way of ours to come in', Buffer.concat([VERSION, Buffer.of(1, 19)])],
    ['has a screen of 65535 × 65535', hello(65_535, 65_535)],
    ['has a screen of nothing', hello(0, 600)],
    ['has a name of 4 GiB', hello(20, 20, 0xffff_ffff)],
    ['draws beyond the screen', Buffer.concat([hello(20, 20), update(rectangle(10, 0, 11, 1, RAW))])],
    ['draws in an encoding that nobody asked for', Buffer.concat([hello(20, 20), update(rectangle(0, 0, 20, 20, 16))])],
    ['draws beyond a tile', Buffer.concat([hello(20, 20), hextile(8, 1, 0xf0, 0x10)])],
    ['says what is no message', Buffer.concat([hello(20, 20), Buffer.of(99)])],
    ['rings its bell for ever', Buffer.concat([hello(20, 20), Buffer.alloc(10_001, 2)])],
    ['sends updates of nothing for ever', Buffer.concat([hello(20, 20), ...Array(10_001).fill(update())])],
    ['sends a text of 2 GiB', Buffer.concat([hello(20, 20), Buffer.of(3, 0, 0, 0), u32(0x7fff_ffff)])],
    ['sends a text of −2 GiB', Buffer.concat([hello(20, 20), Buffer.of(3, 0, 0, 0), u32(0x8000_0000)])],
    [
      'draws the same pixels again and again',
      Buffer.concat([
        hello(2, 2),
        update(...Array(3).fill(Buffer.concat([rectangle(0, 0, 2, 2, RAW), Buffer.alloc(16)]))),
      ]),
    ],
  ])('that %s is refused', async (_, bytes) => {
    await expect(pictured(bytes)).rejects.toThrow(ProtocolError);
  });

  it('that paints each tile as often as possible does not block this thread', async () => {
    const small = Buffer.concat([Buffer.of(2 | 4 | 8), Buffer.alloc(8), Buffer.of(255), Buffer.alloc(510)]);
    const whole = Buffer.concat([Buffer.of(8, 255), Buffer.alloc(510, Buffer.of(0x00, 0xff))]);
    const [width, height] = [1_024, 1_024];
    const tiles = (width / 16) * (height / 16);
    const said = (tile: Buffer) =>
      Buffer.concat([
        hello(width, height),
        update(Buffer.concat([rectangle(0, 0, width, height, HEXTILE), ...Array<Buffer>(tiles).fill(tile)])),
      ]);
    const began = ownProcessorMs();
    expect(await pictured(said(small), 65_536)).toMatchObject({ width, height });
    await expect(pictured(said(whole), 65_536)).rejects.toThrow('over and over');
    expect(ownProcessorMs() - began).toBeLessThan(2_000);
  });

  it('gets no password before a challenge of 16 bytes, and then only a response to it', async () => {
    const { sent, wire } = saying(
      Buffer.concat([VERSION, Buffer.of(1, 2), Buffer.alloc(16), u32(1), u32(3), Buffer.from('no!')]),
    );
    await expect(VncClient.open(wire, async () => 'secret12')).rejects.toThrow('"no!"');
    expect(Buffer.concat(sent)).not.toEqual(expect.stringContaining('secret12'));
    expect(Buffer.concat(sent)).toHaveLength(VERSION.length + 1 + 16);
  });
});

it('the password file has the format of vncpasswd', () => {
  const passwords = { control: 'abcdefgh', view: 'ABCD123' };
  const file = Buffer.from('db8ab02565e3b4c2f01034ac71b3ce16', 'hex'); // printf 'abcdefgh\nABCD123\n' | vncpasswd -f
  expect(passwordFile(passwords)).toEqual(file);
  expect(passwordsOf(file)).toEqual(passwords);
});

it('a picture is a PNG with the same pixels', async () => {
  const pixels = Buffer.from(Array.from({ length: 3 * 2 * 4 }, (_, n) => (n * 37) & 255));
  const png = await pngOf({ width: 3, height: 2, pixels });
  expect(png.subarray(0, 26).toString('hex')).toBe('89504e470d0a1a0a0000000d4948445200000003000000020802');
  const rows = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)));
  const first = [...rows.subarray(1, 10)];
  const second = [...rows.subarray(11, 20)].map((difference, n) => (difference + (first[n] ?? 0)) & 255);
  const seen = [...pixels].filter((_, n) => n % 4 !== 3);
  expect([...first, ...second]).toEqual(seen);
});
