import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StandIn } from '../client/stand-in.ts';
import { askedBy } from './run-line.ts';

const POOL = {
  project: 'default',
  name: 'web',
  shared: false,
  source: 'golden',
  cpus: null,
  memoryMib: 512,
  egress: 'none',
  min: 2,
  max: 4,
  state: 'degraded',
  wanted: 3,
  reason: 'capacity_exhausted: no room\u001b[2J',
  retryAt: '2026-01-01T00:00:30.000Z',
  members: [{ sandboxId: 'sbx-1', state: 'warm', hostId: 'kvm-1', warmAt: '2026-01-01T00:00:00.000Z' }],
  claims: { hits: 7, misses: 1 },
  idleMibHours: 1234.567,
};

let server: StandIn;
beforeAll(async () => {
  server = await StandIn.start();
});
afterAll(() => server.stop());

const cli = (args: string[], body: object = POOL) => askedBy(server, args, body);

// Promise: a pool is set, shown and removed from the command line. Costs nothing.
describe('mayfly pool', () => {
  it('sets one, as many as the least unless it says more', async () => {
    const { asked, code } = await cli(['pool', 'set', 'web', 'golden', '--min', '2', '--memory', '512M']);
    expect([code, asked]).toEqual([0, 'PUT /v1/pools/web {"source":"golden","min":2,"max":2,"memoryMib":512}']);
    expect((await cli(['pool', 'set', 'web', 'golden', '--min', '-1'])).code).toBe(2);
  });

  it('shows what it wants, what it has, and why it has no more', async () => {
    const { out, asked } = await cli(['pool', 'show', 'web']);
    expect(asked).toBe('GET /v1/pools/web ');
    for (const said of [
      'degraded',
      'wants 3',
      '7 had a member, 1 found none',
      '1234.567 MiB-hours',
      'no room',
      '2026-01-01T00:00:30.000Z',
    ])
      expect(out).toContain(said);
    expect(out).not.toContain('\u001b');
  });

  it('lists them, and removes one', async () => {
    const { out } = await cli(['pool', 'list'], { items: [POOL], nextCursor: null });
    expect(out.split('\n')[1]?.split(/ +/)).toEqual(['web', 'degraded', 'golden', '1', '3', '7', '1']);
    const removed = await cli(['pool', 'rm', 'web'], { ...POOL, state: 'deleted', members: [] });
    expect([removed.code, removed.asked]).toEqual([0, 'DELETE /v1/pools/web ']);
    expect((await cli(['pool', 'rm', 'web'], { ...POOL, state: 'deleting' })).code).toBe(124);
  });

  it('sets, shows and removes one that all projects share', async () => {
    const shared = { ...POOL, project: '-', shared: true };
    const set = await cli(['pool', 'set', 'web', 'golden', '--shared'], shared);
    expect(set.asked).toBe('PUT /v1/pools/web {"source":"golden","min":1,"max":1,"shared":true}');
    const shown = await cli(['pool', 'show', 'web', '--shared'], shared);
    expect([shown.asked, shown.out]).toEqual([
      'GET /v1/pools/web?project=- ',
      expect.stringContaining('projects share'),
    ]);
    expect((await cli(['pool', 'rm', 'web', '--shared'], { ...shared, state: 'deleted' })).asked).toBe(
      'DELETE /v1/pools/web?project=- ',
    );
    expect((await cli(['pool', 'list'], { items: [shared], nextCursor: null })).out).toContain('web (shared)');
  });
});
