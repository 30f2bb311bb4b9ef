import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usageLine } from '../../cli/sandbox/sandbox-text.ts';
import { StandIn } from '../client/stand-in.ts';
import { askedBy } from './run-line.ts';

const GIB = 1_073_741_824;
const KEY = '0123456789ab';

let server: StandIn;
beforeAll(async () => {
  server = await StandIn.start();
});
afterAll(() => server.stop());

const cli = (args: string[], body: object = {}) => askedBy(server, args, body);

const limited = {
  id: KEY,
  project: 'default',
  scopes: ['sandboxes:read'],
  diskBytes: 1.5 * GIB,
  sandboxDiskBytes: null,
};

describe('mayfly key', () => {
  it('gives a key that is made its quotas, and none unless asked', async () => {
    const scopes = '"scopes":["sandboxes:read","sandboxes:write"]';
    const plain = await cli(['key', 'create', 'ci'], { ...limited, secret: 'mfk_x' });
    expect(plain).toMatchObject({ code: 0, asked: `POST /v1/keys {"name":"ci",${scopes}}` });
    const { asked } = await cli(['key', 'create', 'ci', '--disk-gib', '50', '--sandbox-disk-gib', '0.5'], limited);
    expect(asked).toBe(`POST /v1/keys {"name":"ci",${scopes},"diskBytes":${50 * GIB},"sandboxDiskBytes":${GIB / 2}}`);
  });

  it('changes what is named, and lifts a limit', async () => {
    const { code, asked, out } = await cli(
      ['key', 'limit', KEY, '--disk-gib', '1.5', '--sandbox-disk-gib', 'none'],
      limited,
    );
    expect(asked).toBe(`PATCH /v1/keys/${KEY} {"diskBytes":${1.5 * GIB},"sandboxDiskBytes":null}`);
    expect([code, out]).toEqual([0, `${KEY} may store 1.5 GiB in all, - for each sandbox (-: no limit)\n`]);
  });

  it.each([
    [],
    ['--disk-gib', '-1'],
    ['--disk-gib', '0'],
    ['--disk-gib', '1e3'],
    ['--disk-gib', ''],
    ['--disk-gib', 'all'],
  ])('refuses %j %j', async (...options) => {
    expect(await cli(['key', 'limit', KEY, ...options])).toMatchObject({ code: 2, asked: undefined });
  });
});

it('says what a sandbox stores, and when that was measured', () => {
  const usage = {
    sandboxId: 'sbx-0123456789abcdef',
    usedBytes: 3 * GIB,
    quotaBytes: 10 * GIB,
    workspaceBytes: GIB,
    measuredAt: '2026-11-21T20:00:00.000Z',
    snapshotBytes: 2 * GIB,
    snapshots: 1,
  };
  expect(usageLine(usage)).toBe(
    '  stores    3.0 GiB of 10.0 GiB: disk 1.0 GiB at 2026-11-21T20:00:00.000Z, 1 snapshot 2.0 GiB',
  );
  expect(usageLine({ ...usage, quotaBytes: null, measuredAt: null, snapshots: 2 })).toBe(
    '  stores    3.0 GiB: disk not measured, 2 snapshots 2.0 GiB',
  );
});
