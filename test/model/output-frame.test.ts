import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutputStream } from '../../model/sandbox/command.ts';
import { encodeEnd, encodeFrame, FrameReader, type OutputFrame } from '../../model/sandbox/output-frame.ts';
import { seedOf } from '../support/sweep.ts';

const text = (frame: OutputFrame) => Buffer.from(frame.bytes).toString();

describe('frames', () => {
  it('are decoded from any chunks, byte for byte and in order', () => {
    const written = fc.array(
      fc.record({
        stream: fc.constantFrom<OutputStream>('stdout', 'stderr'),
        atMs: fc.nat(2 ** 31),
        bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }),
      }),
    );
    fc.assert(
      fc.property(written, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (frames, pieces) => {
        const ends = { stdout: 0, stderr: 0 };
        const sent = frames.map((frame) => {
          const offset = ends[frame.stream];
          ends[frame.stream] += frame.bytes.length;
          return encodeFrame({ ...frame, offset });
        });
        const all = Buffer.concat([...sent, encodeEnd('{"a":"ä"}', 5)]);
        const reader = new FrameReader();
        const read: OutputFrame[] = [];
        let end = '';
        for (let at = 0, n = 0; at < all.length; n++) {
          const size = pieces[n % pieces.length] ?? 1;
          for (const item of reader.push(all.subarray(at, at + size))) {
            if ('exit' in item) end = item.exit;
            else read.push(item);
          }
          at += size;
        }
        expect(end).toBe('{"a":"ä"}');
        expect(reader.isOver).toBe(true);
        const seen = { stdout: 0, stderr: 0 };
        for (const { stream, offset, bytes } of read) {
          expect(offset).toBe(seen[stream]);
          seen[stream] += bytes.length;
        }
        expect(seen).toEqual(ends);
        const merged = (list: { stream: string; bytes: Uint8Array }[]) =>
          list.flatMap(({ stream, bytes }) => [...bytes].map((byte) => `${stream} ${byte}`));
        expect(merged(read)).toEqual(merged(frames));
      }),
      { seed: seedOf('frames') },
    );
  });

  it('are passed on before they are complete', () => {
    const reader = new FrameReader();
    const sent = encodeFrame({ stream: 'stderr', atMs: 1, offset: 7, bytes: Buffer.from('abcdef') });
    const [first] = [...reader.push(sent.subarray(0, -4))];
    expect(first).toMatchObject({ stream: 'stderr', offset: 7 });
    expect(text(first as OutputFrame)).toBe('ab');
    expect([...reader.push(sent.subarray(-4))]).toMatchObject([{ offset: 9 }]);
    expect(reader.isOver).toBe(false);
  });

  it.each([
    ['another stream', Buffer.concat([Buffer.from([3]), Buffer.alloc(16), Buffer.from([0, 0, 0, 1])])],
    ['a frame that is too long', Buffer.concat([Buffer.from([1]), Buffer.alloc(16), Buffer.from([0, 0x10, 0, 1])])],
    ['an empty frame', Buffer.concat([Buffer.from([1]), Buffer.alloc(20)])],
    ['an end that is too long', Buffer.concat([Buffer.from([0]), Buffer.alloc(16), Buffer.from([0, 1, 0, 1])])],
    [
      'an offset that no number holds',
      Buffer.concat([Buffer.from([1]), Buffer.alloc(8), Buffer.alloc(8, 255), Buffer.alloc(4, 1)]),
    ],
    ['more after the end', Buffer.concat([encodeEnd('{}', 1), Buffer.from([1])])],
  ])('%s is refused', (_, bytes) => {
    expect(() => [...new FrameReader().push(bytes)]).toThrow(expect.objectContaining({ code: 'guest_failed' }));
  });
});
