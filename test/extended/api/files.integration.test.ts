import { describe, expect, it } from 'vitest';
import { useFiles } from '../../api/guest-files.ts';

const MIB = 1_048_576;
const { client, id, at } = useFiles();

describe('content', () => {
  async function goesThroughLittleMemory(mebibytes: number): Promise<void> {
    const path = at('large');
    const chunk = new Uint8Array(65_536).fill(7);
    const chunks = (mebibytes * MIB) / chunk.length;
    let left = chunks;
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (left-- > 0) controller.enqueue(chunk);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    // Client, API and relay are all in this process.
    const warm = await client().files.write(id(), at('warm'), new Uint8Array(32 * MIB));
    expect(warm.size).toBe(32 * MIB);
    await (await client().files.read(id(), at('warm'))).body.pipeTo(new WritableStream());
    const before = process.memoryUsage.rss();
    let highest = before;
    const look = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 20);
    const began = performance.now();
    expect((await client().files.write(id(), path, stream)).size).toBe(mebibytes * MIB);
    const between = performance.now();
    let received = 0;
    for await (const piece of (await client().files.read(id(), path)).body) {
      received += piece.length;
      if (piece[0] !== 7 || piece.at(-1) !== 7) throw new Error('other bytes');
    }
    clearInterval(look);
    const seconds = [between - began, performance.now() - between].map((ms) => (ms / 1_000).toFixed(1));
    process.stdout.write(
      `${mebibytes} MiB: up ${seconds[0]} s, down ${seconds[1]} s, ${((highest - before) / MIB).toFixed(0)} MiB more\n`,
    );
    expect(received).toBe(mebibytes * MIB);
    expect(highest - before).toBeLessThan(64 * MIB);
  }

  it('of 128 MiB goes up and down through little memory', () => goesThroughLittleMemory(128));
  it('of 1 GiB goes up and down through little memory', () => goesThroughLittleMemory(1_024));
});
