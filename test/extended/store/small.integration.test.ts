import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HostRecord } from '../../../model/host.ts';
import type { Store } from '../../../store/connect.ts';
import { sandboxId } from '../../store/support.ts';
import { openStore } from '../../support/open-store.ts';
import { startStoreServer } from '../../support/store-server.ts';
import { useStore } from '../../support/use-store.ts';

let store: Store;
useStore((opened) => ({ store } = opened));

describe('API keys', () => {
  it('authenticate by their secret, until they are revoked', async () => {
    const { key, secret } = await store.apiKeys.create({ project: 'default', name: 'ci', scopes: ['sandboxes:read'] });
    expect(secret).toMatch(/^mfk_[0-9a-f]{12}_[\w-]{43}$/);
    expect(await store.apiKeys.authenticate(secret)).toEqual(key);
    expect((await store.apiKeys.revoke(key.id))?.revokedAt).toBeTruthy();
    expect(await store.apiKeys.authenticate(secret)).toBeNull();
    expect(JSON.stringify(await store.apiKeys.list())).not.toContain(secret.slice(17));
  });

  it('created again, are one key with a new secret; revoked ones stay revoked', async () => {
    const wish = { project: 'default', name: 'again', scopes: ['admin'] as const };
    const first = await store.apiKeys.ensure('00000000aaaa', wish);
    const second = await store.apiKeys.ensure('00000000aaaa', wish);
    expect(second?.key).toEqual(first?.key);
    expect(await store.apiKeys.authenticate(first?.secret ?? '')).toBeNull();
    expect(await store.apiKeys.authenticate(second?.secret ?? '')).toEqual(second?.key);
    expect(await store.apiKeys.ensure('00000000aaaa', { ...wish, name: 'of somebody else' })).toBeNull();
    expect(await store.apiKeys.authenticate(second?.secret ?? '')).not.toBeNull();
    await expect(store.apiKeys.create(wish, '00000000aaaa')).rejects.toMatchObject({ code: 'stale_attempt' });
    expect(await store.apiKeys.authenticate(second?.secret ?? '')).toEqual(second?.key);
    await store.apiKeys.revoke('00000000aaaa');
    expect(await store.apiKeys.ensure('00000000aaaa', wish)).toBeNull();
  });

  it('cannot be guessed, mixed or queried', async () => {
    const a = await store.apiKeys.create({ project: 'default', name: 'a', scopes: ['admin'] });
    const b = await store.apiKeys.create({ project: 'default', name: 'b', scopes: ['admin'] });
    const mixed = `mfk_${a.key.id}_${b.secret.slice(17)}`;
    for (const wrong of ['', 'mfk_', mixed, `${a.secret} `, a.secret.slice(0, -1), '{"$ne":null}']) {
      expect(await store.apiKeys.authenticate(wrong)).toBeNull();
    }
    expect(await store.apiKeys.revoke('{"$ne":null}')).toBeNull();
  });

  it('are distinguished in concurrent requests, and a revoked one never passes with earlier ones', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        store.apiKeys.create({ project: 'default', name: `at once ${n}`, scopes: ['sandboxes:read'] }),
      ),
    );
    const unknown = `mfk_ffffffffffff_${'a'.repeat(43)}`;
    const all = [...made.map(({ secret }) => secret), unknown];
    const told = await Promise.all([...all, ...all].map((secret) => store.apiKeys.authenticate(secret)));
    const keys = [...made.map(({ key }) => key), null];
    expect(told).toEqual([...keys, ...keys]);

    const [{ key, secret } = { key: { id: '' }, secret: '' }] = made;
    const before = [store.apiKeys.authenticate(secret), store.apiKeys.authenticate(secret)]; // one is read, one waits
    await store.apiKeys.revoke(key.id);
    expect(await store.apiKeys.authenticate(secret)).toBeNull();
    await Promise.all(before);
  });
});

describe('idempotency', () => {
  const claim = { apiKeyId: '0123456789ab', key: 'k', bodyDigest: 'd', subjectId: sandboxId(1) };

  it('has one first among fifty at once', async () => {
    const claims = Array.from({ length: 50 }, (_, n) => ({ ...claim, key: 'race', subjectId: sandboxId(n) }));
    const results = await Promise.all(claims.map((one) => store.idempotency.claim(one)));
    expect(results.filter((result) => result.fresh).length).toBe(1);
    const winner = sandboxId(results.findIndex((result) => result.fresh));
    for (const result of results) if (!result.fresh) expect(result.subjectId).toBe(winner);
  });

  it('repeats the answer, refuses another body, and separates API keys', async () => {
    expect(await store.idempotency.claim(claim)).toEqual({ fresh: true });
    const again = { ...claim, subjectId: sandboxId(2) };
    expect(await store.idempotency.claim(again)).toMatchObject({ fresh: false, subjectId: sandboxId(1), answer: null });
    const answer = { status: 201, headers: [{ name: 'Location', value: '/x' }], body: '{}' };
    await store.idempotency.complete(claim, answer);
    expect(await store.idempotency.claim(again)).toMatchObject({ fresh: false, subjectId: sandboxId(1), answer });
    await expect(store.idempotency.claim({ ...claim, bodyDigest: 'e' })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    expect(await store.idempotency.claim({ ...claim, apiKeyId: 'ba9876543210' })).toEqual({ fresh: true });
  });

  it('releases a key only for the claim that holds it', async () => {
    const one = { ...claim, key: 'free' };
    await store.idempotency.claim(one);
    await store.idempotency.release({ ...one, subjectId: sandboxId(9) });
    expect((await store.idempotency.claim(one)).fresh).toBe(false);
    await store.idempotency.release(one);
    expect((await store.idempotency.claim(one)).fresh).toBe(true);
  });
});

it('hosts have their latest description', async () => {
  const host: HostRecord = {
    id: 'kvm-1',
    installationId: 'ins-0123456789abcdef01234567',
    hostUuid: null,
    epoch: 1,
    kind: 'libvirt',
    isolation: 'tcg',
    capacity: { cpus: 2, memoryTotalMib: 10, memoryAvailableMib: 5, diskTotalBytes: 9, diskAvailableBytes: 1 },
    promised: { memoryMib: 1, diskBytes: 2, sandboxes: 3 },
    sources: [{ name: 'g', cloneable: false, problem: 'it runs', cpus: 1, memoryMib: 64, diskBytes: 1 }],
    startedAt: '2026-01-01T00:00:00.000Z',
    lastSeenAt: '2026-01-01T00:00:00.000Z',
  };
  await store.hosts.describe(host);
  await store.hosts.describe({ ...host, sources: [] });
  expect(await store.hosts.get('kvm-1')).toMatchObject({ ...host, sources: [] });
  expect((await store.hosts.list()).length).toBe(1);
  await expect(store.hosts.get('../x')).rejects.toMatchObject({ code: 'invalid_id' });
});

describe('a host id', () => {
  const claim = (installationId: string, id = 'kvm-7') =>
    store.hosts.claim({ id, installationId, kind: 'libvirt', hostUuid: null, startedAt: '2026-01-01T00:00:00.000Z' });
  const described = (installationId: string, epoch: number, id = 'kvm-7') => ({
    id,
    installationId,
    hostUuid: null,
    epoch,
    kind: 'libvirt' as const,
    isolation: 'tcg' as const,
    capacity: { cpus: 2, memoryTotalMib: 10, memoryAvailableMib: 5, diskTotalBytes: 9, diskAvailableBytes: 1 },
    promised: { memoryMib: 1, diskBytes: 2, sandboxes: 3 },
    sources: [],
    startedAt: '2026-01-01T00:00:00.000Z',
  });
  const [ONE, OTHER] = ['ins-000000000000000000000001', 'ins-000000000000000000000002'];

  it('belongs to one live worker: a second is refused, an older one fenced, and a departed one succeeded at once', async () => {
    expect(await claim(ONE)).toBe(1);
    expect(await store.hosts.get('kvm-7')).toBeNull(); // not described yet
    await store.hosts.describe(described(ONE, 1));
    const refused = { code: 'host_taken', message: expect.stringContaining(ONE) };
    await expect(claim(OTHER)).rejects.toMatchObject(refused);
    expect(await claim(ONE)).toBe(2);
    await expect(store.hosts.describe(described(ONE, 1))).rejects.toMatchObject({ code: 'host_taken' });
    await store.hosts.leave({ id: 'kvm-7', epoch: 1 }); // by the older one: no effect
    await expect(claim(OTHER)).rejects.toMatchObject(refused);
    await store.hosts.describe(described(ONE, 2));
    await store.hosts.leave({ id: 'kvm-7', epoch: 2 });
    expect(await claim(OTHER)).toBe(3);
  });

  it('is claimed by one of many at once', async () => {
    const claims = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((end) => claim(`ins-00000000000000000000000${end}`, 'kvm-8')),
    );
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('is live by the clock of the store, for any clock of its own', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    await store.hosts.describe(described(ONE, 1, 'kvm-9'));
    expect((await store.hosts.get('kvm-9'))?.silentMs).toBeLessThan(30_000);
    expect(Math.abs(Date.parse((await store.hosts.get('kvm-9'))?.lastSeenAt ?? '') - Date.now())).toBeGreaterThan(
      3_000_000,
    );
  });
});

describe('an unavailable store', () => {
  it('is named as such, soon, and never with its password', async () => {
    const wrong = openStore('mongodb://user:hunter2@127.0.0.1:1/x', { absenceMs: 300 });
    await expect(wrong).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(wrong).rejects.not.toThrow(/hunter2/);
  });

  it('fails each call with store_unavailable when it dies', async () => {
    const mortal = await startStoreServer();
    const calls = await openStore(mortal.uri);
    try {
      await calls.ping();
      await mortal.kill?.();
      if (!mortal.kill) return; // a shared server is not ours to end
      await Promise.all(
        [calls.ping(), calls.sandboxes.get(sandboxId(1)), calls.serials.next()].map((call) =>
          expect(call).rejects.toMatchObject({ code: 'store_unavailable', retryable: true }),
        ),
      );
    } finally {
      await calls.close();
      await mortal.stop();
    }
  });
});
