import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linesOf } from '../../../host/diff/file-change-lines.ts';

async function* piecesOf(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function read(text: string, size: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(piecesOf(text, size))) lines.push(line);
  return lines;
}

/** Measures CPU time of this thread, ms, which is independent of other load. */
async function processorMs(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

// 0.3 s. Guards: file names of a guest cannot make a comparison slow.
describe('the lines of the diff program', () => {
  it('match the text for any chunks, without a last incomplete one', async () => {
    const text = fc.array(fc.constantFrom('a', '\n', 'é', 'bc')).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), async (whole, size) => {
        expect(await read(whole, size)).toEqual(whole.split('\n').slice(0, -1));
      }),
    );
  });

  it('cost the same per character when they are long', async () => {
    const size = 4_096;
    const short = `${'x'.repeat(8_191)}\n`.repeat(1_024);
    const long = `${'x'.repeat(8 * 1_024 * 1_024 - 1)}\n`;
    await read(short, size);
    const ofShort = await processorMs(() => read(short, size));
    const ofLong = await processorMs(() => read(long, size));
    expect(ofLong).toBeLessThan(20 * Math.max(ofShort, 5));
  });

  it('without an end are refused', async () => {
    await expect(read('x'.repeat(9 * 1_024 * 1_024), 65_536)).rejects.toMatchObject({ code: 'internal' });
  });
});
