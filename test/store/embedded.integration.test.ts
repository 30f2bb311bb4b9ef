import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mongo } from 'mongoose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeCachePath } from '../../scripts/setup/artifacts.mjs';

interface Doc {
  _id: string;
  n?: number;
  holder?: number | null;
}

let dir: string;
let child: ChildProcess;
let client: mongo.MongoClient;

async function start(...args: string[]): Promise<string> {
  child = spawn(storeCachePath(), ['--dir', dir, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  if (!child.stdout) throw new Error('the store has no standard output');
  for await (const line of createInterface({ input: child.stdout })) return (JSON.parse(line) as { uri: string }).uri;
  throw new Error('the store ended before it was ready');
}

async function end(signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  child.kill(signal);
  await once(child, 'exit');
  return child.exitCode;
}

async function connect(uri: string): Promise<mongo.Db> {
  client = await new mongo.MongoClient(uri, { maxPoolSize: 50, serverSelectionTimeoutMS: 5_000 }).connect();
  return client.db('embedded');
}

const times = <T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'embedded-'));
});

afterEach(async () => {
  await client?.close();
  await end('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

describe('concurrent updates, which FerretDB alone loses', () => {
  it('adds every one of 200 parallel $inc', async () => {
    const counters = (await connect(await start())).collection<Doc>('counters');
    await counters.insertOne({ _id: 'x', n: 0 });
    await times(200, () => counters.updateOne({ _id: 'x' }, { $inc: { n: 1 } }));
    expect((await counters.findOne({ _id: 'x' }))?.n).toBe(200);
  });

  it('gives 10 places to exactly 10 of 50 that ask at once', async () => {
    const places = (await connect(await start())).collection<Doc>('places');
    await places.insertMany(Array.from({ length: 10 }, (_, i) => ({ _id: `place-${i}`, holder: null })));
    const won = await times(50, (i) => places.findOneAndUpdate({ holder: null }, { $set: { holder: i } }));
    expect(new Set(won.filter((place) => place !== null).map((place) => place._id)).size).toBe(10);
    expect(won.filter((place) => place !== null)).toHaveLength(10);
  });

  it('lets one of 50 parallel inserts of the same _id through', async () => {
    const keys = (await connect(await start())).collection<Doc>('keys');
    const settled = await Promise.allSettled(Array.from({ length: 50 }, () => keys.insertOne({ _id: 'key' })));
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of settled)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 11000 });
  });
});

it('answers the next request rightly after one whose answer nobody reads', async () => {
  const notes = (await connect(await start())).collection<Doc>('notes');
  await notes.insertOne({ _id: 'a' }, { writeConcern: { w: 0 } });
  expect(await notes.countDocuments()).toBe(1);
  expect(await notes.findOne({ _id: 'a' })).toEqual({ _id: 'a' });
});

it('keeps every acknowledged insert when it is killed under load', async () => {
  const uri = await start();
  const load = (await connect(uri)).collection<Doc>('load');
  const acknowledged: string[] = [];
  const writers = times(20, async (writer) => {
    for (let i = 0; ; i += 1) {
      const id = `${writer}-${i}`;
      try {
        await load.insertOne({ _id: id });
      } catch {
        return; // the connection died with the server: this one was not acknowledged
      }
      acknowledged.push(id);
    }
  });
  await expect.poll(() => acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(300);
  await end('SIGKILL');
  await client.close();
  await writers;

  const kept = await (await connect(await start())).collection<Doc>('load').distinct('_id');
  expect(acknowledged.filter((id) => !kept.includes(id))).toEqual([]);
});

it('stops cleanly on SIGTERM, and with its parent when told to', async () => {
  await start();
  expect(await end('SIGTERM')).toBe(0);
  await start('--exit-with-stdin');
  child.stdin?.end();
  await once(child, 'exit');
  expect(child.exitCode).toBe(0);
});

it('refuses a folder that is in use, and one that others may enter', async () => {
  await start();
  const refusal = async () => {
    const second = spawn(storeCachePath(), ['--dir', dir], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    second.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await once(second, 'close');
    expect(second.exitCode).toBe(1);
    return said;
  };
  expect(await refusal()).toContain('another store is running on');
  await end('SIGTERM');
  await chmod(dir, 0o755);
  expect(await refusal()).toContain('others may enter the data folder');
});
