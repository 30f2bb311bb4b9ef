import { describe, expect, it } from 'vitest';
import { FrameReader } from '../../../host/source/gate-client.ts';
import { FRAME_HEADER_BYTES } from '../../../model/sandbox/output-frame.ts';

const MIB = 1_048_576;

function frame(stream: number, offset: number, bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt8(stream, 0);
  header.writeBigUInt64BE(BigInt(offset), 9);
  header.writeUInt32BE(bytes.length, 17);
  return Buffer.concat([header, bytes]);
}

function end(): Buffer {
  const summary = { bytes: 0, kept: 0 };
  const text = JSON.stringify({ outcome: 'exited', exitCode: 0, signal: null, stdout: summary, stderr: summary });
  return frame(0, 0, Buffer.from(text));
}

describe('output of a gate', () => {
  it('is reassembled from any chunks', () => {
    const reader = new FrameReader(10_000);
    const stdout = Buffer.from(Array.from({ length: 9_000 }, (_, n) => n % 251));
    const sent = [...stdout].map((byte, n) => frame(1, n, Buffer.of(byte)));
    const whole = Buffer.concat([
      ...sent.slice(0, 4_500),
      frame(2, 0, Buffer.from('err')),
      ...sent.slice(4_500),
      end(),
    ]);
    for (let at = 0; at < whole.length; at += 1_000) reader.push(whole.subarray(at, at + 1_000));
    const answer = reader.answer('');
    expect(answer.stdout.equals(stdout)).toBe(true);
    expect(answer.stderr.toString()).toBe('err');
    expect(answer.end.exitCode).toBe(0);
  });

  it('is limited to the requested size, per stream', () => {
    const reader = new FrameReader(4);
    reader.push(frame(1, 0, Buffer.from('1234')));
    reader.push(frame(2, 0, Buffer.from('12')));
    expect(() => reader.push(frame(2, 2, Buffer.from('345')))).toThrow('more than was asked for');
  });

  it('is limited in memory too, also for frames of zero or one byte', () => {
    const reader = new FrameReader(MIB);
    const empty = Buffer.concat(Array.from({ length: 10_000 }, () => frame(1, 0, Buffer.alloc(0))));
    const before = process.memoryUsage();
    for (let n = 0; n < 100; n++) reader.push(empty);
    const tiny = Buffer.concat(Array.from({ length: 10_000 }, () => frame(2, MIB, Buffer.of(0))));
    for (let n = 0; n < 100; n++) reader.push(tiny);
    const { heapUsed, external } = process.memoryUsage();
    expect(heapUsed + external - before.heapUsed - before.external).toBeLessThan(64 * MIB);
  });
});
