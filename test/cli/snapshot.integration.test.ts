import { describe, expect, it } from 'vitest';
import { size } from '../../cli/snapshot/snapshot-text.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { ID, SNAPSHOT, sandboxRecord, snapshotRecord } from '../clients/typescript/records.ts';
import { answerJson, type Seen, useStandIn } from '../clients/typescript/stand-in.ts';
import { runLine } from './run-line.ts';

const server = useStandIn();

const OPERATION = 'opn-0123456789abcdef';
const KEPT = 'snp-00000000000000aa';

/** Runs a command line. @param answers by method and path @param told events of the stream */
async function cli(args: string[], answers: Record<string, [status: number, body: unknown]>, told: string[] = []) {
  server.answers((request, response) => {
    const path = request.path.split('?')[0] ?? '';
    const [status, body] = answers[`${request.method} ${path}`] ?? answerOf(path);
    if (!path.endsWith('/events')) return answerJson(response, status, body);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(told.join(''));
  });
  return await runLine(server, args);
}

function answerOf(path: string): [number, unknown] {
  if (path.endsWith('/audit')) return [200, { items: [], nextCursor: null, head: { count: 8, hash: '', mac: '' } }];
  return [200, sandboxRecord()];
}

const audit = (seq: number, kind: AuditKind, detail: object) =>
  `id: ${seq}\nevent: audit\ndata: ${JSON.stringify({ kind, detail })}\n\n`;
const asked = (path: string): Seen | undefined => server.seen.find((seen) => seen.path.startsWith(path));
const bodyOf = (path: string): unknown => JSON.parse(asked(path)?.body ?? 'null');

const step = { step: 'saveSnapshot', startedAt: '2026-11-21T10:01:59.000Z', endedAt: '2026-11-21T10:02:00.500Z' };
const ended = sandboxRecord({ state: 'destroyed' });

describe('mayfly snapshot', () => {
  const path = `/v1/sandboxes/${ID}/snapshots`;
  const creating = snapshotRecord({ state: 'creating', readyAt: null, saved: null });

  it('create watches before it requests, ends with its own event, and prints the saved state', async () => {
    const told = [
      audit(8, 'snapshot.ready', { snapshotId: KEPT }),
      audit(9, 'snapshot.ready', { snapshotId: SNAPSHOT }),
    ];
    const { code, out, err } = await cli(
      ['snapshot', 'create', ID, '--name', 'before'],
      {
        [`POST ${path}`]: [202, creating],
        [`GET /v1/snapshots/${SNAPSHOT}`]: [200, snapshotRecord()],
        [`GET /v1/sandboxes/${ID}`]: [200, sandboxRecord({ steps: [step] })],
      },
      told,
    );
    expect([code, bodyOf(path)]).toEqual([0, { name: 'before' }]);
    expect(asked(`/v1/sandboxes/${ID}/events`)?.headers['last-event-id']).toBe('7');
    expect(out).toContain('272.0 KiB on the host');
    expect(out).toContain('frozen while it was taken');
    expect(err).toContain(`${SNAPSHOT} of ${ID}`);
  });

  it('saves the memory too with --full, and shows its size', async () => {
    const { saved } = snapshotRecord();
    const full = saved && { ...saved, kind: 'full' as const, memoryBytes: 128 * 1024 * 1024 };
    const answers: Record<string, [number, unknown]> = {
      [`POST ${path}`]: [202, creating],
      [`GET /v1/snapshots/${SNAPSHOT}`]: [200, snapshotRecord({ kind: 'full', saved: full })],
    };
    const told = [audit(8, 'snapshot.ready', { snapshotId: SNAPSHOT })];
    const { code, out } = await cli(['snapshot', 'create', ID, '--full'], answers, told);
    expect([code, bodyOf(path)]).toEqual([0, { kind: 'full' }]);
    expect(out).toMatch(/memory +128\.0 MiB/);
    expect(out).toContain('processes frozen');
  });

  it('prints why the snapshot failed, with the matching exit code', async () => {
    const failure = { code: 'host_unavailable', step: 'saveSnapshot', message: 'its worker is away' } as const;
    const failed = snapshotRecord({ state: 'failed', readyAt: null, saved: null, failure });
    const answers: Record<string, [number, unknown]> = {
      [`POST ${path}`]: [202, creating],
      [`GET /v1/snapshots/${SNAPSHOT}`]: [200, failed],
    };
    const told = [audit(8, 'snapshot.failed', { snapshotId: SNAPSHOT })];
    const { code, out } = await cli(['snapshot', 'create', ID], answers, told);
    expect([code, out.includes('its worker is away')]).toEqual([5, true]);
  });

  it('lists, gets and deletes snapshots', async () => {
    const listed = await cli(['snapshot', 'list', ID], {
      [`GET ${path}`]: [200, { items: [snapshotRecord()], nextCursor: null }],
    });
    expect(listed.out).toMatch(/snp-\S+ +before +\S+ +ready +disk +272\.0 KiB/);
    const one = `/v1/snapshots/${SNAPSHOT}`;
    const shown = await cli(['snapshot', 'get', SNAPSHOT, '--json'], { [`GET ${one}`]: [200, snapshotRecord()] });
    expect(JSON.parse(shown.out)).toEqual(snapshotRecord());
    const gone = snapshotRecord({ state: 'deleted', keptFor: `${ID} refers to it` });
    const deleted = await cli(['snapshot', 'delete', SNAPSHOT], { [`DELETE ${one}`]: [200, gone] });
    expect([deleted.code, deleted.out.includes('refers to it')]).toEqual([0, true]);
    const going = await cli(['snapshot', 'delete', SNAPSHOT], {
      [`DELETE ${one}`]: [202, { ...gone, state: 'deleting' }],
    });
    expect(going.code).toBe(124);
  });

  it.each([
    ['snapshot', 'get', ID],
    ['snapshot', 'create', SNAPSHOT],
    ['restore', SNAPSHOT, ID],
    ['restore', ID],
    ['fork', ID],
    ['fork', SNAPSHOT, '--count', '101'],
    ['fork', SNAPSHOT, '--count', '0'],
    ['pause', SNAPSHOT],
  ])('refuses %s %s %s %s', async (...args) => {
    expect((await cli(args.filter(Boolean), {})).code).toBe(2);
    expect(server.seen).toEqual([]);
  });
});

describe('mayfly restore', () => {
  const path = `/v1/sandboxes/${ID}/restore`;
  const sandbox = sandboxRecord({ state: 'restoring' });
  const accepted = { operationId: OPERATION, snapshotId: SNAPSHOT, keptAs: KEPT, sandbox };
  const answers: Record<string, [number, unknown]> = { [`POST ${path}`]: [202, accepted] };

  it('ends when the sandbox runs again, and prints how to undo it', async () => {
    const told = [audit(8, 'sandbox.restored', { operationId: OPERATION })];
    const { code, out, err } = await cli(['restore', ID, SNAPSHOT], answers, told);
    expect([code, bodyOf(path)]).toEqual([0, { snapshotId: SNAPSHOT, keepCurrent: true }]);
    expect(out).toContain(ID);
    expect(err).toContain(`mayfly restore ${ID} ${KEPT}`);
    await cli(['restore', ID, SNAPSHOT, '--drop-current', '--json'], answers, told);
    expect(bodyOf(path)).toEqual({ snapshotId: SNAPSHOT, keepCurrent: false });
  });

  it('prints why the restore failed', async () => {
    const failure = { code: 'boot_failed', step: 'bootDomain', message: 'no\u001b[2J' };
    const told = [
      audit(8, 'sandbox.restore-failed', { operationId: 'opn-another000000000', failure: {} }),
      audit(9, 'sandbox.restore-failed', { operationId: OPERATION, failure }),
    ];
    const { code, err } = await cli(['restore', ID, SNAPSHOT], answers, told);
    expect([code, err.includes('bootDomain: no'), err.includes('\u001b')]).toEqual([1, true, false]);
  });

  it('reports that the sandbox has ended', async () => {
    const { code, err } = await cli(['restore', ID, SNAPSHOT], {
      ...answers,
      [`GET /v1/sandboxes/${ID}`]: [200, ended],
    });
    expect([code, err.includes('the sandbox has ended')]).toEqual([1, true]);
  });

  it('ends with 124 when --wait times out', async () => {
    const { code, err } = await cli(['restore', ID, SNAPSHOT, '--wait', '1'], answers);
    expect([code, err.includes('its saga goes on')]).toEqual([124, true]);
  });
});

describe('mayfly fork', () => {
  const problem = {
    code: 'capacity_exhausted',
    title: 'No host has room',
    status: 503,
    retryable: true,
    sandboxId: KEPT,
  };
  const answers = (items: unknown[]): Record<string, [number, unknown]> => ({ 'POST /v1/sandboxes': [202, { items }] });

  it('ends with 0 when all run, and with 1 when one failed', async () => {
    const items = [{ sandbox: sandboxRecord() }, { sandbox: sandboxRecord() }];
    const all = await cli(['fork', SNAPSHOT, '--count', '2', '--json'], answers(items));
    expect([all.code, JSON.parse(all.out)]).toEqual([0, { items }]);
    expect(bodyOf('/v1/sandboxes')).toEqual({ snapshotId: SNAPSHOT, count: 2 });
    const some = await cli(['fork', SNAPSHOT, '--count', '2'], answers([{ sandbox: sandboxRecord() }, { problem }]));
    expect([some.code, some.out.includes('capacity_exhausted')]).toEqual([1, true]);
  });
});

it('mayfly pause ends when the sandbox is paused, or with 124 on a timeout', async () => {
  const path = `POST /v1/sandboxes/${ID}/pause`;
  expect((await cli(['pause', ID], { [path]: [200, sandboxRecord({ state: 'paused' })] })).code).toBe(0);
  expect((await cli(['pause', ID], { [path]: [202, sandboxRecord()] })).code).toBe(124);
  const asleep = {
    [`POST /v1/sandboxes/${ID}/hibernate`]: [200, sandboxRecord({ state: 'hibernated' })] as [number, unknown],
  };
  expect((await cli(['hibernate', ID], asleep)).code).toBe(0);
  expect((await cli(['resume', ID], { [`POST /v1/sandboxes/${ID}/resume`]: [200, sandboxRecord()] })).code).toBe(0);
});

it.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_024, '1.0 KiB'],
  [1_610_612_736, '1.5 GiB'],
  [2 ** 60, '1048576.0 TiB'],
])('a size of %d is %s', (bytes, text) => {
  expect(size(bytes)).toBe(text);
});
