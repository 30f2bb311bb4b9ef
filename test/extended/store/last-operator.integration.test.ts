import type mongoose from 'mongoose';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../store/connect.ts';
import { useStore } from '../../support/use-store.ts';

let store: Store;
/** Raw connection, which writes the state that a killed process leaves. */
let raw: mongoose.Connection;
useStore((opened) => ({ store, db: raw } = opened));
beforeEach(async () => {
  for (const { id } of await store.apiKeys.list()) await store.apiKeys.revoke(id);
});

async function admins(count: number): Promise<string[]> {
  const made = Array.from({ length: count }, () =>
    store.apiKeys.create({ project: 'default', name: 'a', scopes: ['operator'] }),
  );
  return (await Promise.all(made)).map(({ key }) => key.id);
}

async function living(): Promise<string[]> {
  return (await store.apiKeys.list()).filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id);
}

const revoke = (id = '') => store.apiKeys.revokeUnlessLast(id);
const LAST = { code: 'last_admin_key' };

describe('the last admin key', () => {
  it('is not revoked; others are, repeatedly', async () => {
    const [a, b] = await admins(2);
    await store.apiKeys.create({ project: 'default', name: 'reader', scopes: ['sandboxes:read'] });
    expect((await revoke(a))?.revokedAt).toBeTruthy();
    expect((await revoke(a))?.revokedAt).toBeTruthy();
    await expect(revoke(b)).rejects.toMatchObject(LAST);
    await expect(revoke(b)).rejects.toMatchObject(LAST);
    expect(await living()).toContain(b);
    await admins(1);
    expect((await revoke(b))?.revokedAt).toBeTruthy();
    expect(await revoke('000000000000')).toBeNull();
  });

  it('is not the key of a run, which ends with it, nor one of other scopes', async () => {
    const [lasting] = await admins(1);
    const run = await store.apiKeys.create({
      project: 'default',
      name: 'mayfly up',
      scopes: ['operator'],
      endsWithRun: true,
    });
    const reader = await store.apiKeys.create({ project: 'default', name: 'reader', scopes: ['sandboxes:read'] });
    await expect(revoke(lasting)).rejects.toMatchObject(LAST);
    expect((await revoke(reader.key.id))?.revokedAt).toBeTruthy();
    expect((await revoke(run.key.id))?.revokedAt).toBeTruthy();
  });

  it.each([2, 3, 8])('remains when %i revoke each other at the same time', async (count) => {
    for (let round = 0; round < 10; round++) {
      const ids = await admins(count);
      const results = await Promise.allSettled(ids.map(revoke));
      const stayed = (await living()).filter((id) => ids.includes(id));
      expect(stayed.length).toBeGreaterThanOrEqual(1);
      const refused = ids.filter((_, n) => results[n]?.status === 'rejected');
      expect(refused.sort()).toEqual(stayed.sort());
      for (const id of stayed) await store.apiKeys.revoke(id);
    }
  });

  it('can be another after a revocation was cut off between its mark and its end', async () => {
    const [a, b] = await admins(2);
    const mark = (id: string | undefined, at: number) =>
      raw
        .collection<{ _id: string }>('apiKeys')
        .updateOne({ _id: id ?? '' }, { $set: { revocation: `${new Date(at).toISOString()}/x` } });
    await mark(a, Date.now());
    await expect(revoke(b)).rejects.toMatchObject(LAST);
    await expect(revoke(a)).rejects.toMatchObject(LAST);
    await mark(a, Date.now() - 61_000);
    expect((await revoke(b))?.revokedAt).toBeTruthy();
    await expect(revoke(a)).rejects.toMatchObject(LAST);
  });
});
