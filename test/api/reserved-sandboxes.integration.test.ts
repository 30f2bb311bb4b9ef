// Mayfly's own sandboxes (unclaimed pool members, builds, runs) can only be inspected and destroyed. A second.
import { beforeAll, describe, expect, it } from 'vitest';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { sandboxId, snapshotId } from '../store/support.ts';
import { jsonOf, problemOf, useDoor } from './support.ts';

const door = useDoor();
let reader: string;
let writer: string;
let first: SandboxRecord;
beforeAll(async () => {
  reader = await door.key('sandboxes:read');
  writer = await door.key('sandboxes:read', 'sandboxes:write');
  const { id } = await jsonOf<{ id: string }>(door.call('POST', '/v1/sandboxes', { source: 'golden' }));
  const record = await door.store.sandboxes.get(id);
  if (!record) throw new Error(`${id} has no record`);
  first = record;
});

/** Stores another sandbox; its host may have been silent since. */
async function sandbox(changes: Partial<SandboxRecord>): Promise<string> {
  const id = sandboxId(++made);
  await door.store.sandboxes.create({ ...first, id, hostId: 'kvm-1', ...changes });
  return id;
}
let made = 0;

const POOL = { name: 'p', revision: 1, content: null, warmAt: null, claimedBy: null };
const CHANGES: [method: string, path: string, body?: unknown][] = [
  ['PATCH', '', { ttlSeconds: 600 }],
  ['POST', '/commands', { command: 'true' }],
  ['POST', '/credentials', { publicKey: makeKeyPair('me').publicKey }],
  ['POST', '/pause'],
  ['POST', '/hibernate'],
  ['POST', '/resume'],
  ['POST', '/snapshots', {}],
  ['POST', '/restore', { snapshotId: snapshotId(1) }],
  ['POST', '/playbook', {}],
  ['POST', '/ports', { port: 3_000 }],
  ['POST', '/ports/3000/tokens', {}],
  ['DELETE', '/ports/3000'],
  ['DELETE', '/ports/3000/tokens'],
  ['POST', '/desktop/actions', { action: 'move', x: 1, y: 1 }],
  ['POST', '/desktop/streams', { mode: 'view' }],
  ['DELETE', '/files/etc/hostname'],
];
const READS = [
  '/files/etc/hostname',
  '/files/proc/1/root/run/secrets/token',
  '/ports',
  '/desktop',
  '/desktop/screenshot',
];

async function expectRefused(method: string, path: string, body: unknown, key: string): Promise<void> {
  const response = await door.call(method, path, body, {}, key);
  expect(response.ok, `${method} ${path}`).toBe(false);
  expect((await problemOf(response)).code, `${method} ${path}`).toBe('sandbox_not_running');
}

describe('an unclaimed member of a pool', () => {
  it.each(['warm', 'creating', 'running'] as const)('is refused at every endpoint while it is %s', async (state) => {
    const id = await sandbox({ state, pool: POOL });
    for (const [method, path, body] of CHANGES) {
      await expectRefused(method, `/v1/sandboxes/${id}${path}`, body, writer);
    }
    for (const path of READS) await expectRefused('GET', `/v1/sandboxes/${id}${path}`, undefined, writer);
    expect(await door.store.exposedPorts.of(id)).toEqual([]);
    expect((await door.call('GET', `/v1/sandboxes/${id}`, undefined, {}, reader)).status).toBe(200);
    expect((await door.call('DELETE', `/v1/sandboxes/${id}`, undefined, {}, writer)).ok).toBe(true);
  });

  it('is usable once claimed', async () => {
    const id = await sandbox({ state: 'running', pool: { ...POOL, claimedBy: 'sbx-0123456789abcdef' } });
    expect((await door.call('POST', `/v1/sandboxes/${id}/ports`, { port: 3_000 }, {}, writer)).status).toBe(201);
  });
});

describe.each(['image', 'source', 'playbook', 'run'] as const)('a sandbox for a build: %s', (builds) => {
  it('cannot be read in its guest or changed, also by name', async () => {
    const name = `b-${builds}`;
    const id = await sandbox({ state: 'running', builds });
    const named = await sandbox({ state: 'running', builds, name });
    for (const of of [id, named, name]) {
      for (const path of READS) await expectRefused('GET', `/v1/sandboxes/${of}${path}`, undefined, reader);
      await expectRefused('POST', `/v1/sandboxes/${of}/commands`, { command: 'true' }, writer);
    }
    expect((await door.call('GET', `/v1/sandboxes/${id}`, undefined, {}, reader)).status).toBe(200);
    expect((await door.call('DELETE', `/v1/sandboxes/${id}`, undefined, {}, writer)).ok).toBe(true);
  });
});
