import { expect, test } from 'vitest';
import type { Store } from '../../store/connect.ts';
import { openStore } from '../support/open-store.ts';
import { useStore } from '../support/use-store.ts';
import { certificateRecord, sandboxId } from './support.ts';

const actor = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };

let store: Store;
let uri: string;
useStore((opened) => ({ store, uri } = opened));

test('serials are never reused: by two connections at once (caa-018), and after both reconnect (caa-017)', async () => {
  const taken: number[] = [];
  for (let restart = 0; restart < 3; restart++) {
    const replicas = [await openStore(uri), await openStore(uri)];
    const each = replicas.flatMap(({ serials }) => Array.from({ length: 40 }, () => serials.next()));
    taken.push(...(await Promise.all(each)));
    for (const replica of replicas) await replica.close();
  }
  expect(new Set(taken).size).toBe(240);
  expect(Math.min(...taken)).toBe(1);
  expect(Math.max(...taken)).toBe(240);
});

test('adding is idempotent; a serial in use is refused', async () => {
  const one = certificateRecord('7');
  await store.certificates.add(one);
  await store.certificates.add(one);
  expect(await store.certificates.get('7')).toEqual(one);
  await expect(store.certificates.add(certificateRecord('7', { keyId: 'other' }))).rejects.toMatchObject({
    code: 'internal',
  });
  for (const serial of ['8', '07', '-7', '7 ', '$ne', '']) expect(await store.certificates.get(serial)).toBeNull();
});

test('certificates are listed newest first, by number instead of text, up to the largest serial', async () => {
  const id = sandboxId(2);
  const largest = (2n ** 64n - 1n).toString();
  for (const serial of ['9', '10', largest, '100'])
    await store.certificates.add(certificateRecord(serial, { sandboxId: id }));
  expect((await store.certificates.of(id)).map(({ serial }) => serial)).toEqual([largest, '100', '10', '9']);
  await expect(store.certificates.of('x')).rejects.toMatchObject({ code: 'invalid_id' });
});

test('the first revocation is kept, with its actor', async () => {
  const id = sandboxId(3);
  await store.certificates.add(certificateRecord('31', { sandboxId: id }));
  await store.certificates.revoke(['31', '999'], '2026-01-01T00:10:00Z', actor);
  await store.certificates.revoke(['31'], '2026-01-01T00:20:00Z', null);
  await store.certificates.refused(['31'], '2026-01-01T00:11:00Z');
  await store.certificates.refused(['31'], '2026-01-01T00:21:00Z');
  expect(await store.certificates.get('31')).toMatchObject({
    revokedAt: '2026-01-01T00:10:00Z',
    revokedBy: actor,
    refusedAt: '2026-01-01T00:11:00Z',
  });
});

test("old certificates are deleted, except the platform's own that may still be valid", async () => {
  const id = sandboxId(4);
  const past = { sandboxId: id, validBefore: '2025-01-01T01:00:00Z' };
  await store.certificates.add(certificateRecord('41', past));
  await store.certificates.add(certificateRecord('42', { ...past, purpose: 'host' }));
  await store.certificates.add(
    certificateRecord('43', { ...past, purpose: 'host', revokedAt: '2025-01-01T00:00:00Z' }),
  );
  await store.certificates.add(certificateRecord('44', { sandboxId: id }));
  expect(await store.certificates.prune('2025-06-01T00:00:00Z')).toBe(2);
  expect((await store.certificates.of(id)).map(({ serial }) => serial)).toEqual(['44', '42']);
});
