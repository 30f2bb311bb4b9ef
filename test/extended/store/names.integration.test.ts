import type mongoose from 'mongoose';
import { afterAll, describe, expect, it } from 'vitest';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import type { Store } from '../../../store/connect.ts';
import { record, sandboxId } from '../../store/support.ts';
import { openStore } from '../../support/open-store.ts';
import { useStore } from '../../support/use-store.ts';

/** Stores as of two processes, which share only the server. */
let store: Store;
let other: Store;
let db: mongoose.Connection;
useStore(async (opened) => {
  ({ store, db } = opened);
  other = await openStore(opened.uri);
});
afterAll(() => other?.close());

const named = (n: number, name: string, changes: Partial<SandboxRecord> = {}) => record(n, { name, ...changes });
const taken = { code: 'name_taken' };
const failure = { code: 'boot_failed', step: 'bootDomain', message: 'no' } as const;

// Promise: a name belongs to one living sandbox, on each kind of server. Costs 1 s.
describe('a name', () => {
  it('belongs to one sandbox after any number of concurrent creates in several processes', async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: 24 }, (_, n) => (n % 2 ? store : other).sandboxes.create(named(n, 'race'))),
    );
    const [winner, ...more] = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(more).toEqual([]);
    for (const one of asked) if (one.status === 'rejected') expect(one.reason).toMatchObject(taken);
    expect(await other.sandboxes.named('race', 'default')).toEqual(winner);
    // Refused creates leave nothing.
    const ids = Array.from({ length: 24 }, (_, n) => sandboxId(n));
    const found = await Promise.all(ids.map((id) => store.sandboxes.get(id)));
    expect(found.filter(Boolean).map((one) => one?.id)).toEqual([winner?.id]);
  });

  it('is in the record, also when that has ended', async () => {
    await store.sandboxes.create(named(100, 'told'));
    expect(await store.sandboxes.get(sandboxId(100))).toEqual(named(100, 'told'));
    const ended = await store.sandboxes.update(sandboxId(100), { state: 'destroyed' });
    expect(ended.name).toBe('told');
    expect(await store.sandboxes.get(sandboxId(100))).toEqual(ended);
  });

  it('is optional: there may be many sandboxes without one', async () => {
    await Promise.all([110, 111, 112].map((n) => store.sandboxes.create(record(n))));
    await store.sandboxes.update(sandboxId(110), { state: 'running' });
    await Promise.all([110, 111].map((n) => store.sandboxes.update(sandboxId(n), { state: 'destroyed' })));
    expect((await store.sandboxes.get(sandboxId(112)))?.name).toBeNull();
  });

  it.each(['destroyed', 'failed'] as const)('is released when its sandbox is %s, and not before', async (state) => {
    const [first, second] = state === 'destroyed' ? [120, 121] : [122, 123];
    const name = `until-${state}`;
    await store.sandboxes.create(named(first, name));
    for (const before of ['creating', 'running', 'paused', 'hibernated', 'restoring', 'destroying'] as const) {
      await store.sandboxes.update(sandboxId(first), { state: before });
      await expect(other.sandboxes.create(named(second, name))).rejects.toMatchObject(taken);
      expect((await other.sandboxes.named(name, 'default'))?.id).toBe(sandboxId(first));
    }
    await store.sandboxes.update(sandboxId(first), { state, ...(state === 'failed' && { failure }) });
    expect(await other.sandboxes.named(name, 'default')).toBeNull();
    expect(await other.sandboxes.create(named(second, name))).toEqual(named(second, name));
    expect((await store.sandboxes.named(name, 'default'))?.id).toBe(sandboxId(second));
  });

  it('passes between sandboxes, and never belongs to two', async () => {
    const id = (n: number) => sandboxId(n);
    for (let n = 130; n < 140; n++) {
      await store.sandboxes.create(named(n, 'handed'));
      const [, next] = await Promise.allSettled([
        store.sandboxes.update(id(n), { state: 'destroyed' }),
        other.sandboxes.create(named(n + 1_000, 'handed')),
      ]);
      const holder = await store.sandboxes.named('handed', 'default');
      expect(holder?.id ?? null).toBe(next.status === 'fulfilled' ? id(n + 1_000) : null);
      if (next.status === 'rejected') expect(next.reason).toMatchObject(taken);
      else await store.sandboxes.update(id(n + 1_000), { state: 'destroyed' });
    }
  });

  it('stays with a repeated request', async () => {
    const [one, again] = await Promise.all([
      store.sandboxes.create(named(150, 'again')),
      other.sandboxes.create(named(150, 'again')),
    ]);
    expect(again).toEqual(one);
    await store.sandboxes.update(sandboxId(150), { state: 'running' });
    expect((await other.sandboxes.create(named(150, 'again'))).state).toBe('running');
  });

  it('does not return with a late repetition of a request that has ended', async () => {
    await store.sandboxes.create(named(160, 'late'));
    await store.sandboxes.update(sandboxId(160), { state: 'destroyed' });
    expect((await store.sandboxes.create(named(160, 'late'))).state).toBe('destroyed');
    expect(await store.sandboxes.named('late', 'default')).toBeNull();
    await store.sandboxes.create(named(161, 'late'));
    expect((await store.sandboxes.create(named(160, 'late'))).state).toBe('destroyed');
    expect((await store.sandboxes.named('late', 'default'))?.id).toBe(sandboxId(161));
  });

  it('is not reclaimed by an ended sandbox, whose repeated end changes nothing', async () => {
    await store.sandboxes.create(named(170, 'twice'));
    await store.sandboxes.update(sandboxId(170), { state: 'destroyed' });
    await store.sandboxes.create(named(171, 'twice'));
    await expect(store.sandboxes.update(sandboxId(170), { state: 'destroying' })).rejects.toThrow(/any more/);
    await store.sandboxes.update(sandboxId(170), { state: 'destroyed' });
    expect((await store.sandboxes.named('twice', 'default'))?.id).toBe(sandboxId(171));
  });

  it('is released after an end that was cut short is repeated', async () => {
    await store.sandboxes.create(named(180, 'cut'));
    const living = db.collection<{ _id: string }>('sandboxes');
    const before = await living.findOne({ _id: sandboxId(180) });
    await store.sandboxes.update(sandboxId(180), { state: 'destroyed' });
    if (!before) throw new Error('it was not among the living');
    await living.insertOne(before); // as if the process had died before it removed it
    await expect(store.sandboxes.create(named(181, 'cut'))).rejects.toMatchObject(taken);
    await store.sandboxes.update(sandboxId(180), { state: 'destroyed' });
    expect((await store.sandboxes.create(named(181, 'cut'))).id).toBe(sandboxId(181));
  });

  it('is never a query, an id, or another invalid value', async () => {
    const hostile = [
      { $ne: null },
      ['web'],
      null,
      '',
      '$ne',
      'sbx-',
      sandboxId(1),
      'cmd-x',
      'Web',
      'a_b',
      '-a',
      'a-',
      '1a',
    ];
    for (const name of [...hostile, 'a\n', 'a'.repeat(64), 'ä', '../etc']) {
      await expect(store.sandboxes.named(name as string, 'default')).rejects.toMatchObject({ code: 'invalid_id' });
    }
  });
});
