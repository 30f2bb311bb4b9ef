import { describe, expect, it } from 'vitest';
import type { SourceAccess, SourceCommandResult } from '../../model/snapshots/source-access.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { INSTALLATION } from '../support/installation-id.ts';
import { runLine } from './run-line.ts';

const server = useStandIn();

async function run(args: string[], answer: object, status = 200) {
  server.answers((_request, response) => answerJson(response, status, answer));
  const { code, bytes, err } = await runLine(server, ['source', ...args]);
  return { code, out: bytes.toString('latin1'), err, asked: server.seen[0] };
}

const quiet = { text: '', base64: null, truncated: false };
const result = (changes: Partial<SourceCommandResult>): SourceCommandResult => ({
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdout: quiet,
  stderr: quiet,
  durationMs: 3,
  ...changes,
});

describe('mayfly source run', () => {
  it('sends one line unchanged, and passes both streams through', async () => {
    const base64 = Buffer.from([0xff, 0x0a]).toString('base64');
    const stderr = { ...quiet, text: 'oh\n' };
    const answer = result({ stdout: { text: null, base64, truncated: true }, stderr });
    const { code, out, err, asked } = await run(['run', 'web 1', 'cat /x | wc', '--timeout', '5'], answer);
    expect([code, out]).toEqual([0, '\xff\n']);
    expect(err).toBe('oh\nmayfly: it printed more, which was not kept\n');
    expect(asked?.path).toBe('/v1/sources/web%201/commands');
    expect(JSON.parse(asked?.body ?? '')).toEqual({ command: 'cat /x | wc', timeoutSeconds: 5 });
  });

  it.each([
    [{ exitCode: 3 }, 3],
    [{ exitCode: null, signal: 'SIGKILL' }, 137],
    [{ exitCode: null, signal: 'SIGTERM', timedOut: true }, 124],
  ])('%j ends with %d', async (changes, code) => {
    expect((await run(['run', 'web-1', 'true'], result(changes))).code).toBe(code);
  });

  it.each([
    [['cat', '/etc/hostname'], "mayfly source run web-1 'cat /etc/hostname'"],
    [["it's"], "mayfly source run web-1 'ps aux | head -5'"],
  ])('prints the words behind -- as the single argument to use: %j', async (words, line) => {
    const { code, err, asked } = await run(['run', 'web-1', '--', ...words], {});
    expect([code, err.includes(`do:   ${line}`), asked]).toEqual([2, true, undefined]);
  });
});

describe('mayfly source prepare', () => {
  const access = {
    id: 'src-0123456789abcdef',
    hostId: 'kvm-1',
    installationId: INSTALLATION,
    name: 'web-1',
    state: 'prepared',
    sshd: { port: 22, hostKey: 'ssh-ed25519 AAAA', version: 'OpenSSH_9.2' },
    gateVersion: 'x',
    changes: ['user mayfly-readonly\u001b[2J'],
    preparedAt: '2026-11-21T10:00:00.000Z',
    preparedBy: { apiKeyId: 'key-1', agentId: null, project: 'default' },
    failure: null,
    waitingFor: null,
    updatedAt: '2026-11-21T10:00:00.000Z',
  } as const satisfies SourceAccess;

  it('prints the changes, with hostile text escaped', async () => {
    const { code, out, asked } = await run(['prepare', 'web-1', '--host', 'kvm-1'], access);
    expect(code).toBe(0);
    expect(out).toContain('changed: user mayfly-readonly');
    expect(out).not.toContain('\u001b[2J');
    expect(JSON.parse(asked?.body ?? '')).toEqual({ hostId: 'kvm-1' });
  });

  it('ends with 124 when the wait times out', async () => {
    const waiting = { ...access, state: 'unpreparing', waitingFor: 'removeGate: it is shut off' } as const;
    const { code, out } = await run(['unprepare', 'web-1', '--wait', '1'], waiting, 202);
    expect([code, out.includes('waiting for removeGate')]).toEqual([124, true]);
  });
});

describe('mayfly source start and stop', () => {
  const power = { name: 'web-1', hostId: 'kvm-1', state: 'running', guestAnswers: true };

  it('reports that it runs, and whether it can be prepared', async () => {
    const { code, out, err, asked } = await run(['start', 'web-1', '--host', 'kvm-1'], power);
    expect([code, out, err]).toEqual([0, 'web-1 on kvm-1: running\n', '']);
    expect([asked?.path, asked?.body]).toEqual(['/v1/sources/web-1/start', '{"hostId":"kvm-1"}']);
    expect((await run(['start', 'web-1'], { ...power, guestAnswers: false })).err).toContain('does not answer yet');
    expect((await run(['start', 'web-1'], { ...power, guestAnswers: null })).err).toContain('no channel');
    const waiting = await run(['start', 'web-1', '--wait', '1'], { ...power, state: 'starting' }, 202);
    expect(waiting.code).toBe(124);
  });

  it('forces a stop only with --force, and suggests it when the guest ignores the shutdown', async () => {
    const off = { ...power, state: 'shut_off', guestAnswers: null };
    const { code, out, asked } = await run(['stop', 'web-1', '--json'], off);
    expect([code, JSON.parse(out), asked?.body]).toEqual([0, off, '{}']);
    const forced = await run(['stop', 'web-1', '--force'], off);
    expect([forced.out, forced.asked?.body]).toEqual(['web-1 on kvm-1: shut off\n', '{"force":true}']);
    const problem = { code: 'source_stop_failed', title: 'The source did not shut down', status: 502, detail: 'no' };
    const failed = await run(['stop', 'web-1'], problem, 502);
    expect([failed.code, failed.err.includes('--force')]).toEqual([1, true]);
  });
});

it('mayfly source cat refuses a relative path, and lists a directory', async () => {
  expect((await run(['cat', 'web-1', 'etc'], {})).code).toBe(2);
  const entry = {
    name: 'hosts',
    path: 'etc/hosts',
    type: 'file',
    size: 7,
    mode: '0644',
    user: 'root',
    group: 'root',
  };
  const items = [{ ...entry, uid: 0, gid: 0, mtime: '2026-11-21T10:00:00.000Z' }];
  const { code, out, asked } = await run(['cat', 'web-1', '/etc'], { items, nextCursor: null });
  expect([code, asked?.path]).toEqual([0, '/v1/sources/web-1/files/etc']);
  expect(out).toMatch(/0644 +root +7 .*hosts/);
});

describe('mayfly source bake and delete', () => {
  const baked = {
    id: 'src-0123456789abcdef',
    hostId: 'kvm-1',
    installationId: INSTALLATION,
    name: 'tools',
    state: 'ready',
    snapshotId: 'snp-0123456789abcdef',
    sandboxId: 'sbx-0123456789abcdef',
    builderId: 'sbx-1123456789abcdef',
    createdBy: { apiKeyId: 'key-1', agentId: null, project: 'default' },
    createdAt: '2026-11-21T00:00:00.000Z',
    readyAt: '2026-11-21T00:01:00.000Z',
    image: { disks: [{ target: 'vda', sha256: 'ab', virtualBytes: 9, storedBytes: 2048 }], sizeBytes: 2048 },
    failure: null,
    waitingFor: null,
    updatedAt: '2026-11-21T00:01:00.000Z',
  };

  it('prints the baked source and its origin', async () => {
    const { code, out, asked } = await run(['bake', 'tools', '--from', 'snp-0123456789abcdef'], baked, 201);
    expect(code).toBe(0);
    expect(out).toContain('tools on kvm-1: ready');
    expect(out).toContain('baked of snp-0123456789abcdef, a snapshot of sbx-0123456789abcdef');
    expect(out).toContain('takes 2.0 KiB on the host');
    expect([asked?.method, asked?.path]).toEqual(['POST', '/v1/sources']);
    expect(JSON.parse(asked?.body ?? '')).toEqual({ name: 'tools', fromSnapshot: 'snp-0123456789abcdef' });
  });

  it('ends with 124 when the wait times out, and with 2 for an invalid snapshot id', async () => {
    expect(
      (await run(['bake', 'tools', '--from', 'snp-0123456789abcdef'], { ...baked, state: 'baking' }, 202)).code,
    ).toBe(124);
    expect((await run(['bake', 'tools', '--from', 'cap-x'], baked)).code).toBe(2);
  });

  it('deletes on the given host', async () => {
    const { code, asked } = await run(['delete', 'tools', '--host', 'kvm-1'], { ...baked, state: 'deleted' });
    expect([code, asked?.method, asked?.path]).toEqual([0, 'DELETE', '/v1/sources/tools?hostId=kvm-1']);
    const deleting = await run(['delete', 'tools', '--wait', '0'], { ...baked, state: 'deleting' }, 202);
    expect(deleting.code).toBe(124);
  });
});
