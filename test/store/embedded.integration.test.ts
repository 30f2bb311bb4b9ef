import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { mongo } from 'mongoose';
import { afterEach, describe, expect, it } from 'vitest';
import { storeCachePath } from '../../worker/config/artifacts.mjs';
import { seedOf } from '../support/sweep.ts';
import { repeat, useEmbeddedStore } from './embedded-stores.ts';

interface Doc {
  _id: string;
  n?: number;
  holder?: number | null;
}

const { start, end, child, folder } = useEmbeddedStore();
let client: mongo.MongoClient | undefined;

async function connect(uri: string): Promise<mongo.Db> {
  client = await new mongo.MongoClient(uri, { maxPoolSize: 50, serverSelectionTimeoutMS: 60_000 }).connect();
  return client.db('embedded');
}

afterEach(() => client?.close());

describe('concurrent updates, which plain FerretDB loses', () => {
  it('adds every one of 200 parallel $inc', async () => {
    const counters = (await connect(await start())).collection<Doc>('counters');
    await counters.insertOne({ _id: 'x', n: 0 });
    await repeat(200, () => counters.updateOne({ _id: 'x' }, { $inc: { n: 1 } }));
    expect((await counters.findOne({ _id: 'x' }))?.n).toBe(200);
  });

  it('gives 10 places to exactly 10 of 50 concurrent updates', async () => {
    const places = (await connect(await start())).collection<Doc>('places');
    await places.insertMany(Array.from({ length: 10 }, (_, i) => ({ _id: `place-${i}`, holder: null })));
    const won = await repeat(50, (i) => places.findOneAndUpdate({ holder: null }, { $set: { holder: i } }));
    expect(new Set(won.filter((place) => place !== null).map((place) => place._id)).size).toBe(10);
    expect(won.filter((place) => place !== null)).toHaveLength(10);
  });

  it('runs 500 updates of one command, for which SQLite has 100 connections', async () => {
    const counters = (await connect(await start())).collection<Doc>('counters');
    const updates = Array.from({ length: 500 }, (_, i) => ({
      updateOne: { filter: { _id: `n-${i}` }, update: { $inc: { n: 1 } }, upsert: true },
    }));
    expect(await counters.bulkWrite(updates, { ordered: false })).toMatchObject({ upsertedCount: 500 });
    expect(await counters.countDocuments({ n: 1 })).toBe(500);
  });

  it('accepts exactly one of 50 parallel inserts of the same _id', async () => {
    const keys = (await connect(await start())).collection<Doc>('keys');
    const settled = await Promise.allSettled(Array.from({ length: 50 }, () => keys.insertOne({ _id: 'key' })));
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of settled)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 11000 });
  });
});

it('answers correctly after an unacknowledged write', async () => {
  const notes = (await connect(await start())).collection<Doc>('notes');
  await notes.insertOne({ _id: 'a' }, { writeConcern: { w: 0 } });
  expect(await notes.countDocuments()).toBe(1);
  expect(await notes.findOne({ _id: 'a' })).toEqual({ _id: 'a' });
});

it('keeps every acknowledged insert after a kill under load', async () => {
  const uri = await start();
  const load = (await connect(uri)).collection<Doc>('load');
  const acknowledged: string[] = [];
  const writers = repeat(20, async (writer) => {
    for (let i = 0; ; i += 1) {
      const id = `${writer}-${i}`;
      try {
        await load.insertOne({ _id: id });
      } catch {
        return; // the connection ended with the server: not acknowledged
      }
      acknowledged.push(id);
    }
  });
  await expect.poll(() => acknowledged.length).toBeGreaterThan(300);
  await end('SIGKILL');
  await client?.close();
  await writers;

  const kept = await (await connect(await start())).collection<Doc>('load').distinct('_id');
  expect(acknowledged.filter((id) => !kept.includes(id))).toEqual([]);
});

describe('a kill between two statements of FerretDB', () => {
  const TABLE = "SELECT table_name FROM _ferretdb_collections WHERE name = 'runs'";
  /** Statements that damage the collection `runs`; `#` is its table. */
  const HALF_MADE = {
    'a collection without its first index': `DROP INDEX "#__id_"; UPDATE _ferretdb_collections SET settings = '{}'`,
    'a collection that nothing lists': 'DELETE FROM _ferretdb_collections',
    'an index that nothing lists': `CREATE INDEX "#_n_1" ON "#" (_ferretdb_sjson->"n")`,
    'an index that is listed and gone': 'DROP INDEX "#__id_"',
    'a database without collections': 'DROP TABLE "#"; DROP TABLE _ferretdb_collections',
  };

  it.for(Object.entries(HALF_MADE))('%s is repaired', async ([, statements]) => {
    await (await connect(await start())).collection<Doc>('runs').insertOne({ _id: 'before' });
    await end('SIGKILL');
    const script = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
(table,) = db.execute(sys.argv[2]).fetchone()
db.executescript(sys.argv[3].replace('#', table))`;
    execFileSync('python3', ['-c', script, join(folder(), 'embedded.sqlite'), TABLE, statements]);
    const runs = (await connect(await start())).collection<Doc>('runs');
    await runs.insertOne({ _id: 'after' });
    await expect(runs.insertOne({ _id: 'after' })).rejects.toMatchObject({ code: 11000 });
    await runs.createIndex({ n: 1 });
    expect((await runs.indexes()).map(({ name }) => name)).toEqual(['_id_', 'n_1']);
  });
});

describe('indexes, which plain FerretDB creates and never uses', () => {
  interface Item {
    _id: string;
    kind: string;
    at: string;
    note?: string | null;
  }
  const items = Array.from({ length: 300 }, (_, n): Item => {
    const at = new Date(Date.UTC(2026, 0, 1) + ((n * 7) % 50)).toISOString();
    return {
      _id: `item-${String(n).padStart(3, '0')}`,
      kind: ['a', 'b', 'ab'][n % 3] ?? '',
      at,
      note: n % 5 ? 'x' : null,
    };
  });
  const newestFirst = (a: Item, b: Item) => (a.at === b.at ? (a._id < b._id ? 1 : -1) : a.at < b.at ? 1 : -1);

  async function indexed(): Promise<mongo.Collection<Item>> {
    const collection = (await connect(await start())).collection<Item>('items');
    await collection.createIndexes([{ key: { kind: 1, at: -1, _id: -1 } }, { key: { at: -1, _id: -1 } }]);
    await collection.insertMany(items);
    return collection;
  }

  it('return the same as a full scan, in the same order', async () => {
    const collection = await indexed();
    const at = items[30]?.at ?? '';
    const cases: [mongo.Filter<Item>, (item: Item) => boolean][] = [
      [{}, () => true],
      [{ kind: 'a' }, ({ kind }) => kind === 'a'],
      [{ kind: { $in: ['a', 'ab', 'none'] } }, ({ kind }) => kind !== 'b'],
      [{ kind: { $in: [] } }, () => false],
      [{ kind: { $ne: 'a' } }, ({ kind }) => kind !== 'a'],
      [{ kind: { $gt: 'a', $lt: 'b' } }, ({ kind }) => kind === 'ab'],
      [{ at: { $lte: at }, note: null }, (item) => item.at <= at && item.note === null],
      [{ kind: 'b', at: { $gte: at, $ne: at } }, (item) => item.kind === 'b' && item.at > at],
      [
        { at: { $lte: at }, $or: [{ at: { $lt: at } }, { _id: { $lt: 'item-100' } }] },
        (item) => item.at < at || (item.at === at && item._id < 'item-100'),
      ],
      [{ _id: { $gte: 'item-010', $lt: 'item-020' } }, ({ _id }) => _id >= 'item-010' && _id < 'item-020'],
      [{ _id: { $in: ['item-007', 'item-008', 'none'] }, kind: 'b' }, ({ _id }) => _id === 'item-007'],
    ];
    for (const [filter, matches] of cases) {
      const wanted = items.filter(matches).sort(newestFirst);
      expect(await collection.find(filter).sort({ at: -1, _id: -1 }).toArray(), JSON.stringify(filter)).toEqual(wanted);
      expect(await collection.find(filter).sort({ at: 1, _id: 1 }).limit(7).toArray()).toEqual(
        wanted.reverse().slice(0, 7),
      );
      expect(await collection.countDocuments(filter)).toBe(wanted.length);
      const counted = await client?.db('embedded').command({ count: 'items', query: filter });
      expect(counted?.['n']).toBe(wanted.length);
    }
  });

  it('count a range of strings like a scan, among values of other types, and up to a limit', async () => {
    const collection = (await connect(await start())).collection<{ _id: string; at?: unknown }>('mixed');
    await collection.createIndex({ at: 1 });
    const others = [0, 1.5, -1, true, false, null, { a: 'b' }, ['b'], new Date(0), '', 'a', 'b', 'b0', 'b/', 'c', 'é'];
    await collection.insertMany([{ _id: 'none' }, ...others.map((at, n) => ({ _id: `${n}`, at }))]);
    const ranges = [
      { $gt: 'a' },
      { $gte: '' },
      { $lt: 'c' },
      { $lte: 'b' },
      { $gt: 'b/', $lt: 'b0' },
      { $gte: 'a', $lt: 'c' },
    ];
    for (const at of [...ranges, { $gt: 'a', $lt: 'c', $ne: 'b' }, { $gte: 'a', $lte: 1 }]) {
      const wanted = (await collection.find({ at }).toArray()).length;
      const counted = async (limit: number) =>
        (await client?.db('embedded').command({ count: 'mixed', query: { at }, limit }))?.['n'];
      expect([await counted(0), await counted(1)], JSON.stringify(at)).toEqual([wanted, Math.min(wanted, 1)]);
    }
    expect(await collection.countDocuments({ at: { $lt: 'c' } })).toBe(5);
  });

  it('update and delete only matches', async () => {
    const collection = await indexed();
    expect((await collection.updateMany({ kind: 'a' }, { $set: { note: 'y' } })).modifiedCount).toBe(100);
    expect((await collection.deleteMany({ kind: { $in: ['a', 'b'] }, note: 'y' })).deletedCount).toBe(100);
    expect(await collection.findOneAndUpdate({ kind: 'a' }, { $set: { note: 'z' } })).toBeNull();
    expect(await collection.estimatedDocumentCount()).toBe(200);
  });
});

it('stops cleanly on SIGTERM, and with its parent on request', async () => {
  await start();
  expect(await end('SIGTERM')).toBe(0);
  await start('--exit-with-stdin');
  child().stdin?.end();
  await once(child(), 'exit');
  expect(child().exitCode).toBe(0);
});

it('refuses a folder in use, and one that others can enter', async () => {
  await start();
  const refusal = async () => {
    const second = spawn(storeCachePath(), ['--dir', folder()], { stdio: ['ignore', 'ignore', 'pipe'] });
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
  await chmod(folder(), 0o755);
  expect(await refusal()).toContain('others may enter the data folder');
});

it('returns documents as stored', async () => {
  const { Binary, Double, Int32, Long } = mongo;
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string(),
    fc.constantFrom('"', '\\', '\\"', '</b>', '\u2028'),
  );
  const scalar = fc.oneof(
    text,
    fc.boolean(),
    fc.constant(null),
    fc.integer().map((n) => new Int32(n)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => new Double(n === 0 ? 0 : n)),
    fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n }).map((n) => Long.fromBigInt(n)),
    fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
    fc.uint8Array().map((bytes) => new Binary(bytes)),
  );
  const { value } = fc.letrec<{ part: object; value: unknown }>((tie) => ({
    part: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), tie('value'), { maxKeys: 6, noNullPrototype: true }),
    // FerretDB supports no list in a list.
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(fc.oneof(scalar, tie('part')), { maxLength: 5 }),
      tie('part'),
    ),
  }));
  const kept = (await connect(await start())).collection<{ _id: string; value: unknown }>('kept');
  let n = 0;
  await fc.assert(
    fc.asyncProperty(value, async (stored) => {
      const _id = `${++n}`;
      await kept.insertOne({ _id, value: stored });
      const read = await kept.findOne({ _id }, { promoteValues: false });
      expect(mongo.BSON.EJSON.stringify(read, { relaxed: false })).toBe(
        mongo.BSON.EJSON.stringify({ _id, value: stored }, { relaxed: false }),
      );
    }),
    { seed: seedOf('documents'), numRuns: 300 },
  );
});
