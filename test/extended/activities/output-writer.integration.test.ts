import { describe, expect, it } from 'vitest';
import { type Backlog, OutputWriter } from '../../../host/exec/output-writer.ts';
import type { OutputStream } from '../../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES, type OutputFrame } from '../../../model/sandbox/output-frame.ts';
import { replay } from '../../../store/commands/output-replay.ts';
import type { Store } from '../../../store/connect.ts';
import { commandId } from '../../store/support.ts';
import { sweep } from '../../support/sweep.ts';
import { useStore } from '../../support/use-store.ts';

let store: Store;
let backlog: Backlog;

useStore((opened) => {
  store = opened.store;
  backlog = { bytes: 0 };
});

/** A reproducible sequence of numbers below 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Makes the log of a guest: frames of both streams, of all sizes. */
function log(seed: number, frames: number, largest: number): OutputFrame[] {
  const random = randomFrom(seed);
  const ends = { stdout: 0, stderr: 0 };
  return Array.from({ length: frames }, (_, n) => {
    const stream: OutputStream = random() < 0.6 ? 'stdout' : 'stderr';
    const bytes = Buffer.alloc(1 + Math.floor(random() ** 3 * largest), Math.floor(random() * 256));
    const offset = ends[stream];
    ends[stream] += bytes.length;
    return { stream, atMs: 1_790_000_000_000 + Math.floor(n / 3), offset, bytes };
  });
}

/** Skips frames as the agent does: complete ones are left out, and one is cut. */
function* from(frames: OutputFrame[], place: Record<OutputStream, number>): Generator<OutputFrame> {
  for (const frame of frames) {
    const skipped = Math.max(0, place[frame.stream] - frame.offset);
    if (skipped >= frame.bytes.length) continue;
    yield { ...frame, offset: frame.offset + skipped, bytes: frame.bytes.subarray(skipped) };
  }
}

/** Concatenates the bytes with stream and time, independent of the frame boundaries. */
async function flat(frames: Iterable<OutputFrame> | AsyncIterable<OutputFrame>): Promise<string> {
  const digest: string[] = [];
  let last = '';
  for await (const { stream, atMs, bytes } of frames) {
    const head = `${stream}@${atMs}:`;
    digest.push(head === last ? Buffer.from(bytes).toString('hex') : `\n${head}${Buffer.from(bytes).toString('hex')}`);
    last = head;
  }
  return digest.join('');
}

const open = (commandId: string, onStored = async () => {}) =>
  OutputWriter.resume({ output: store.output, commandId, backlog, onStored });

describe('the output of a command', () => {
  it('is returned with its order and its times', async () => {
    const frames = log(1, 400, 4_000);
    const writer = await open(commandId(1));
    for (const frame of frames) {
      writer.add(frame);
      await writer.room();
    }
    await writer.finish();
    expect(await flat(replay(store.output, commandId(1), { stdout: 0, stderr: 0 }))).toBe(await flat(frames));
    expect(backlog.bytes).toBe(0);
    const place = { stdout: 70_000, stderr: 12_345 };
    const rest = replay(store.output, commandId(1), place);
    expect(await flat(rest)).toBe(await flat(from(frames, place)));
    const kept = writer.kept.stdout;
    const all = Buffer.concat(frames.filter(({ stream }) => stream === 'stdout').map(({ bytes }) => bytes));
    expect(kept).toBe(all.length);
    const read = await store.output.read(commandId(1), 'stdout', 65_000, 70_000);
    expect(all.subarray(65_000, 135_000).equals(read)).toBe(true);
    expect(await store.output.read(commandId(1), 'stdout', kept, 10)).toHaveLength(0);
    expect(await store.output.read(commandId(1), 'stdout', kept - 3, 10)).toHaveLength(3);
  });

  sweep([1, 2, 3, 4, 5, 6, 7, 8])(
    'is complete, without duplicates, wherever its writer was killed (seed %s)',
    async (seed) => {
      const id = commandId(100 + seed);
      const frames = log(seed, 300, seed % 2 ? 20_000 : 300);
      const random = randomFrom(seed * 977);
      for (let isOver = false, kills = 0; !isOver; kills++) {
        // A worker that dies between two writes: the store accepts that many more, and then none.
        let writes = kills < 12 ? Math.floor(random() * 8) : Number.POSITIVE_INFINITY;
        const dying = new Proxy(store.output, {
          get: (output, name) => {
            const method: unknown = Reflect.get(output, name);
            if (typeof method !== 'function') return method;
            return async (...args: unknown[]) => {
              if (name === 'put' && writes-- <= 0) throw new Error('killed');
              return Reflect.apply(method, output, args) as unknown;
            };
          },
        });
        const writer = await OutputWriter.resume({ output: dying, commandId: id, backlog, onStored: async () => {} });
        try {
          for (const frame of from(frames, writer.from)) {
            writer.add(frame);
            await writer.room();
          }
          await writer.finish();
          isOver = true;
        } catch {
          await writer.abandon();
        }
      }
      expect(await flat(replay(store.output, id, { stdout: 0, stderr: 0 }))).toBe(await flat(frames));
      expect(backlog.bytes).toBe(0);
    },
  );

  it('that ends at the end of a chunk continues in the next', async () => {
    const id = commandId(50);
    const frame = { stream: 'stdout', atMs: 1, offset: 0, bytes: Buffer.alloc(OUTPUT_CHUNK_BYTES, 1) } as const;
    const first = await open(id);
    first.add(frame);
    await first.finish();
    const second = await open(id);
    expect(second.from).toEqual({ stdout: OUTPUT_CHUNK_BYTES, stderr: 0 });
    second.add({ ...frame, offset: OUTPUT_CHUNK_BYTES, bytes: Buffer.from('x') });
    await second.finish();
    expect((await open(id)).from).toEqual({ stdout: OUTPUT_CHUNK_BYTES + 1, stderr: 0 });
  });

  it('with a gap or an overlap is refused', async () => {
    const writer = await open(commandId(51));
    const frame = { stream: 'stdout', atMs: 1, offset: 1, bytes: Buffer.from('x') } as const;
    expect(() => writer.add(frame)).toThrow(expect.objectContaining({ code: 'guest_failed' }));
    writer.add({ ...frame, offset: 0 });
    expect(() => writer.add({ ...frame, offset: 0 })).toThrow(expect.objectContaining({ code: 'guest_failed' }));
    await writer.abandon();
    expect(backlog.bytes).toBe(0);
  });

  it('is reported completely before it finishes', async () => {
    let goOn = () => {};
    const going = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let told = () => {};
    const telling = new Promise<void>((resolve) => {
      told = resolve;
    });
    const writer = await open(commandId(53), () => {
      told();
      return going;
    });
    writer.add({ stream: 'stdout', atMs: 1, offset: 0, bytes: Buffer.alloc(OUTPUT_CHUNK_BYTES, 1) });
    await telling;
    let isFinished = false;
    const finishing = writer.finish().then(() => {
      isFinished = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isFinished).toBe(false);
    goOn();
    await finishing;
  });

  it('counts stored bytes even if they must be requested again', async () => {
    const chunk = { bytes: Buffer.from('ahead'), marks: [{ position: 9, atMs: 1, offset: 0 }] };
    await store.output.put(commandId(54), 'stderr', 0, chunk);
    const writer = await open(commandId(54));
    expect(writer.from).toEqual({ stdout: 0, stderr: 0 });
    expect(writer.kept).toEqual({ stdout: 0, stderr: 5 });
  });

  it('is stored while it arrives', async () => {
    let stored: (() => void) | undefined;
    const seen = new Promise<void>((resolve) => {
      stored = resolve;
    });
    const writer = await open(commandId(52), async () => stored?.());
    writer.add({ stream: 'stderr', atMs: 1, offset: 0, bytes: Buffer.from('now') });
    await seen;
    expect(Buffer.from(await store.output.read(commandId(52), 'stderr', 0, 9)).toString()).toBe('now');
  });
});
