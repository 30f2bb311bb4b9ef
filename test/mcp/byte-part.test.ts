// Guards: parts of bytes have whole characters, join to the whole, and reveal no piece of a secret. Costs milliseconds.
import { expect, it } from 'vitest';
import { firstBytes, readPart } from '../../mcp/lib/byte-part.ts';

const reader = (bytes: Uint8Array) => async (range: { from: number; to: number }) =>
  bytes.subarray(range.from, range.to);

it.each([
  ['text', 'plain text and nothing else'],
  ['characters of two, three and four bytes', 'aä€😀'.repeat(9)],
  ['a text that ends in the middle of a character', Buffer.from('ab€').subarray(0, 4)],
])('%s: consecutive parts join to the whole', async (_name, whole) => {
  const bytes = Buffer.from(whole);
  for (let size = 4; size < 12; size++) {
    const parts: string[] = [];
    for (let from = 0; from < bytes.length; ) {
      const part = await readPart(reader(bytes), { from, to: from + size });
      expect(part.to).toBeGreaterThan(from);
      parts.push(part.text);
      from = part.to;
    }
    expect(parts.join('')).toBe(bytes.toString());
  }
});

it('marks bytes that are not text, and returns exactly the requested range', async () => {
  const bytes = Buffer.from([0xe2, 0xe2, 0xe2, 0xe2, 0x00, 0xff]);
  const part = await readPart(reader(bytes), { from: 1, to: 4 });
  expect(part.isText).toBe(false);
  expect([...part.bytes]).toEqual([0xe2, 0xe2, 0xe2]);
  expect((await readPart(reader(Buffer.from('a\0b')), { from: 0, to: 3 })).isText).toBe(false);
});

it.each([-20, 0, 5, 39])('masks a secret when a part starts %i bytes into it', async (into) => {
  const before = 'x '.repeat(5_000);
  const bytes = Buffer.from(`${before}ghp_${'a1B2'.repeat(9)}${' y'.repeat(5_000)}`);
  const from = before.length + into;
  const { text } = await readPart(reader(bytes), { from, to: from + 30 });
  expect(text).not.toMatch(/a1B2|B2/);
});

it('stops reading an endless stream', async () => {
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
    cancel: () => {
      isCancelled = true;
    },
  });
  expect(await firstBytes(endless, 2_500)).toHaveLength(2_500);
  expect(isCancelled).toBe(true);
});
